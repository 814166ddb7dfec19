// Live maps in the pages of the documentation: of an example that stands in the page, or of a file
// that the reader drops. Everything is computed in the page, nothing is sent.

import type { Engine as EngineType } from "../engine/client";
import { byCategory, byValue, palette, scaleOf, type Theme } from "../scatter";
import { Card } from "./card";
import { dataOf, labelColumns, parseCsv, type Column, type Csv } from "./csv";
import { element, saveText } from "./page";
import "./live.css";

declare global {
  interface Window {
    LowdimEngine?: { Engine: typeof EngineType }; // engine.js makes it
  }
}

const folder = (document.currentScript as HTMLScriptElement).src.replace(/[^/]*$/, "");
let engine: Promise<EngineType> | null = null;

/** The engine, part of the page or loaded when it is first used. */
function loadEngine(): Promise<EngineType> {
  engine ??= new Promise((resolve, reject) => {
    if (window.LowdimEngine) return resolve(new window.LowdimEngine.Engine());
    const script = element("script", { src: `${folder}engine.js` });
    script.addEventListener("load", () => resolve(new window.LowdimEngine!.Engine()));
    script.addEventListener("error", () => reject(new Error("The engine, engine.js, could not be loaded.")));
    document.head.append(script);
  });
  return engine;
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = (): Theme =>
  (document.documentElement.dataset["theme"] ?? (dark.matches ? "dark" : "light")) === "dark"
    ? "dark"
    : "light";

class Live {
  readonly #host: HTMLElement;
  readonly #cards: Card[];
  readonly #message = element("div", { className: "message", role: "alert" });
  readonly #hovered = element("p", { className: "hovered" });
  readonly #standardise = element("input", { type: "checkbox" });
  readonly #colour = element("select");
  readonly #options: HTMLElement;
  #csv: Csv | null = null;
  #name = "";
  #rows: number[] = [];

  constructor(host: HTMLElement) {
    this.#host = host;
    const { methods = "", start = "Run", drop } = host.dataset;
    const example = host.querySelector("template")!.content.textContent!;
    const run = element("button", { type: "button", className: "start" }, start);
    run.addEventListener("click", () => this.#read(example.trim(), "example"));
    const chooser = element("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv" });
    chooser.addEventListener("change", () => void this.#readFile(chooser.files?.[0]));
    const zone = element("div", { className: "drop" });
    if (drop !== undefined) {
      zone.append(
        element("label", {}, element("span", {}, "Drop a CSV file here, or choose one: "), chooser),
        " or ",
      );
      host.addEventListener("dragover", (event) => (event.preventDefault(), zone.classList.add("over")));
      host.addEventListener("dragleave", () => zone.classList.remove("over"));
      host.addEventListener("drop", (event) => {
        event.preventDefault();
        zone.classList.remove("over");
        void this.#readFile(event.dataTransfer?.files[0]);
      });
    }
    zone.append(run);
    this.#standardise.addEventListener("change", () => this.#map());
    this.#colour.addEventListener("change", () => this.#paint());
    this.#options = element(
      "div",
      { className: "options", hidden: true },
      element("label", {}, "Colour by ", this.#colour),
      element("label", {}, this.#standardise, " Standardise the columns"),
    );
    this.#cards = methods.split(" ").map((name) => new Card(name, (point) => this.#hover(point)));
    const grid = element("div", { className: "cards" }, ...this.#cards.map(({ host }) => host));
    host.append(zone, this.#message, this.#options, grid, this.#hovered);
    host.classList.add("ready");
    this.#ink();
    new MutationObserver(() => (this.#ink(), this.#paint())).observe(document.documentElement, {
      attributeFilter: ["data-theme"],
    });
  }

  async #readFile(file: File | undefined): Promise<void> {
    if (file) this.#read(decode(await file.arrayBuffer()), file.name.replace(/\.[^.]*$/, ""));
  }

  #read(text: string, name: string): void {
    this.#name = name;
    try {
      const csv = parseCsv(text);
      const labels = labelColumns(csv);
      this.#csv = csv;
      this.#colour.replaceChildren(
        ...labels.map(({ name }) =>
          element("option", { value: String(csv.columns.findIndex((c) => c.name === name)) }, name),
        ),
        element("option", { value: "" }, "nothing"),
      );
      if (labels[0]!.numbers && !dataOf(csv, false).notes.some((note) => note.startsWith("Taken")))
        this.#colour.value = "";
      this.#map();
    } catch (error) {
      this.#say([(error as Error).message], true);
    }
  }

  #say(lines: string[], error = false): void {
    this.#message.replaceChildren(...lines.map((line) => element("p", {}, line)));
    this.#message.classList.toggle("error", error);
  }

  /** Maps the table by all methods. */
  #map(): void {
    if (!this.#csv) return;
    const { table, rows, notes } = dataOf(this.#csv, this.#standardise.checked);
    this.#rows = rows;
    this.#say([
      `${table.rows.toLocaleString("en")} rows of ${table.columns.toLocaleString("en")} numbers.`,
      ...notes,
    ]);
    this.#options.hidden = false;
    this.#host.classList.add("running");
    for (const card of this.#cards)
      card.show({
        table,
        fit: async (task, progress, signal) => (await loadEngine()).fit(task, progress, signal),
        save: (embedding, method) => saveText(coordinates(embedding, rows), `${this.#name}-${method}.csv`),
      });
    this.#paint();
  }

  #column(): Column | null {
    return this.#colour.value === "" ? null : (this.#csv?.columns[Number(this.#colour.value)] ?? null);
  }

  #paint(): void {
    const column = this.#column();
    const colors = column && colorsOf(column, this.#rows);
    for (const { scatter } of this.#cards) scatter.setColors(colors);
  }

  #ink(): void {
    const style = getComputedStyle(this.#host);
    const read = (name: string): string => style.getPropertyValue(name).trim();
    for (const { scatter } of this.#cards)
      scatter.setInks({ ink: read("--ink"), paper: read("--panel"), accent: read("--accent") });
  }

  #hover(point: number): void {
    for (const { scatter } of this.#cards) scatter.setRinged(point < 0 ? [] : [point]);
    const row = this.#rows[point];
    const label = this.#column();
    this.#hovered.textContent =
      row === undefined ? "" : `row ${row + 1}${label ? `: ${label.name} ${label.texts[row]}` : ""}`;
  }
}

/** Text in UTF-8, or as older programs write it. */
function decode(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

const MOST_KINDS = palette.length;

function colorsOf({ numbers, texts }: Column, rows: number[]): Uint32Array {
  const kinds = [...new Set(rows.map((i) => texts[i]!))].sort();
  if (numbers && (kinds.length > MOST_KINDS || !rows.every((i) => Number.isInteger(numbers[i])))) {
    const values = rows.map((i) => numbers[i]!);
    return byValue(values, scaleOf(values), theme());
  }
  const code = new Map(kinds.map((kind, k) => [kind, k]));
  return byCategory(
    rows.map((i) => code.get(texts[i]!)!),
    palette,
  );
}

function coordinates(embedding: Float64Array, rows: number[]): string {
  return (
    ["row,x,y", ...rows.map((row, i) => `${row + 1},${embedding[2 * i]},${embedding[2 * i + 1]}`)].join(
      "\n",
    ) + "\n"
  );
}

for (const host of document.querySelectorAll<HTMLElement>(".lowdim-live")) new Live(host);
