// One map with the parameters of its method, its quality, and the bits to take away.

import type { Fit } from "../engine/client";
import type { Task } from "../engine/worker";
import { Scatter } from "../scatter";
import { element } from "./page";

type Values = Record<string, number>;

interface Parameter {
  key: string;
  label: string;
  value: number;
  low: number;
  high: number;
  step: number;
}

interface Kind {
  title: string;
  parameters: Parameter[];
  method(values: Values, rows: number): Task["method"];
}

const parameter = (
  key: string,
  label: string,
  value: number,
  low: number,
  high: number,
  step = 1,
): Parameter => ({
  ...{ key, label, value },
  ...{ low, high, step },
});

/** The perplexity, of few rows at most a third of them. */
const cut = ({ perplexity = 30, ...others }: Values, rows: number): Values => ({
  ...others,
  perplexity: Math.max(1, Math.min(perplexity, Math.floor((rows - 1) / 3))),
});

export const KINDS: Record<string, Kind> = {
  pca: { title: "PCA", parameters: [], method: () => ({ name: "pca" }) },
  tsne: {
    title: "t-SNE",
    parameters: [parameter("perplexity", "perplexity", 30, 2, 100)],
    method: (values, rows) => ({ name: "tsne", ...cut(values, rows) }),
  },
  seeds: {
    title: "t-SNE from a random start",
    parameters: [parameter("seed", "seed", 0, 0, 20)],
    method: (values, rows) => ({ name: "tsne", init: "random", ...cut(values, rows) }),
  },
  umap: {
    title: "UMAP",
    parameters: [
      parameter("neighbors", "neighbours", 15, 2, 100),
      parameter("minDist", "least distance", 0.1, 0, 1, 0.05),
      parameter("seed", "seed", 0, 0, 20),
    ],
    method: (values) => ({ name: "umap", ...values }),
  },
  mds: { title: "Metric MDS", parameters: [], method: () => ({ name: "mds" }) },
};

export interface Source {
  table: Task["table"];
  fit(
    task: Task,
    progress: (iteration: number, embedding: Float64Array) => void,
    signal: AbortSignal,
  ): Promise<Fit>;
  save(embedding: Float64Array, name: string): void;
}

export class Card {
  readonly host: HTMLElement;
  readonly scatter: Scatter;
  readonly #kind: Kind;
  readonly #status = element("p", { className: "status", role: "status" });
  readonly #values: Values = {};
  readonly #save = element("button", { type: "button", disabled: true }, "Save coordinates");
  #source: Source | null = null;
  #running: AbortController | null = null;
  #embedding: Float64Array | null = null;

  constructor(name: string, hover: (point: number) => void) {
    this.#kind = KINDS[name]!;
    const { title, parameters } = this.#kind;
    const canvas = element("div", { className: "canvas" });
    const controls = parameters.map((parameter) => this.#control(parameter));
    this.#save.addEventListener("click", () => {
      if (this.#embedding) this.#source?.save(this.#embedding, name);
    });
    this.host = element("section", { className: "card" }, element("h3", {}, title), ...controls, canvas);
    this.host.append(this.#status, this.#save);
    this.scatter = new Scatter(canvas, { label: `Map by ${title}`, events: { hover } });
  }

  #control({ key, label, value, low, high, step }: Parameter): HTMLElement {
    this.#values[key] = value;
    const shown = element("output", {}, String(value));
    const input = element("input", {
      type: "range",
      min: `${low}`,
      max: `${high}`,
      step: `${step}`,
      value: `${value}`,
    });
    input.addEventListener("input", () => (shown.textContent = input.value));
    input.addEventListener("change", () => {
      this.#values[key] = Number(input.value);
      void this.run();
    });
    return element("label", {}, element("span", {}, label), input, shown);
  }

  show(source: Source): void {
    this.#source = source;
    void this.run();
  }

  /** Fits the map anew, in place of a fit that is under way. */
  async run(): Promise<void> {
    if (!this.#source) return;
    this.#running?.abort();
    const { signal } = (this.#running = new AbortController());
    const draw = (embedding: Float64Array, milliseconds = 0): void =>
      this.scatter.setPositions(Float32Array.from(embedding), 2, milliseconds);
    const progress = (iteration: number, embedding: Float64Array): void => {
      draw(embedding);
      this.#status.textContent = `iteration ${iteration}`;
    };
    this.#status.textContent = "waiting";
    this.#status.classList.remove("error");
    this.#save.disabled = true;
    try {
      const { table } = this.#source;
      const method = this.#kind.method(this.#values, table.rows);
      const task = { table, method };
      const { embedding, quality, seconds } = await this.#source.fit(task, progress, signal);
      this.#embedding = embedding;
      draw(embedding, 200);
      this.#save.disabled = false;
      const less = method.name === "tsne" && method.perplexity! < (this.#values["perplexity"] ?? 30);
      this.#status.textContent =
        (less ? `perplexity ${method.perplexity}, because there are few rows; ` : "") +
        (quality
          ? `R_NX AUC ${quality.rnxAuc.toFixed(3)}, trustworthiness ${quality.trustworthiness.toFixed(3)}, ` +
            `continuity ${quality.continuity.toFixed(3)}; `
          : "") +
        `${seconds.toFixed(1)} s`;
    } catch (error) {
      if (signal.aborted) return;
      this.scatter.setPositions(new Float32Array(0), 2);
      this.#status.textContent = error instanceof Error ? error.message : String(error);
      this.#status.classList.add("error");
    }
  }
}
