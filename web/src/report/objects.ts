// Single objects: those that are selected, and the one under the pointer.

import { $, element, ids, images, labels, n, valueText, type Kinds, type Label, type Values } from "./data";
import { repaint, selected, shown, views } from "./maps";

const MOST_DIFFERENCES = 6; // columns listed for a selection
const MOST_SHOWN = 12; // columns under the pointer

const identify = (i: number): string => (ids ? ids[i] : String(i));

export function select(rows: ArrayLike<number>): void {
  const list = Array.from(rows).sort((a, b) => a - b);
  selected.fill(0);
  list.forEach((i) => (selected[i] = 1));
  $("selection").hidden = list.length === 0;
  $("count").textContent =
    `${list.length.toLocaleString("en")} of ${n.toLocaleString("en")} selected.${tally(list)}`;
  $("difference").replaceChildren(...differences(list));
  $<HTMLTextAreaElement>("chosen").value = list.map(identify).join("\n");
  repaint();
}

/** How many of which category, the most frequent first. */
function tally(rows: readonly number[]): string {
  const { label } = shown.choice;
  if (!label?.kinds) return "";
  const counts = new Map<number, number>();
  rows.forEach((i) => counts.set(label.codes[i], (counts.get(label.codes[i]) ?? 0) + 1));
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  const parts = sorted.slice(0, 8).map(([code, count]) => `${label.kinds[code]}: ${count}`);
  return ` ${parts.join(", ")}${sorted.length > 8 ? ", …" : ""}`;
}

interface Difference {
  name: string;
  here: string;
  rest: string;
  size: number;
}

/** The columns in which the selected objects differ most from the others. */
function differences(rows: readonly number[]): HTMLElement[] {
  if (!rows.length || rows.length === n) return [];
  const found = labels
    .map((label) => (label.kinds ? kindDifference(label, rows) : valueDifference(label)))
    .filter((one) => one !== null)
    .filter((one) => Math.abs(one.size) >= 0.5)
    .sort((a, b) => Math.abs(b.size) - Math.abs(a.size))
    .slice(0, MOST_DIFFERENCES);
  if (!found.length) return [];
  const cell = (name: "th" | "td", text: string): HTMLElement =>
    element(name, {}, element("bdi", { textContent: text }));
  const head = element("tr", {}, cell("th", "differs in"), cell("th", "here"), cell("th", "rest"));
  const lines = found.map((one) =>
    element("tr", {}, cell("th", one.name), cell("td", one.here), cell("td", one.rest)),
  );
  return [element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines))];
}

/** Means of a column, and their difference in standard deviations. */
function valueDifference(label: Values): Difference | null {
  const sums = [0, 0];
  const counts = [0, 0];
  let squares = 0;
  for (let i = 0; i < n; i++) {
    const value = label.values[i];
    if (value !== value) continue; // NaN
    sums[selected[i]] += value;
    counts[selected[i]]++;
    squares += value * value;
  }
  if (!counts[0] || !counts[1]) return null;
  const total = counts[0] + counts[1];
  const mean = (sums[0] + sums[1]) / total;
  const least = (label.scale.high - label.scale.low) / 65534; // the precision of the values
  const spread = Math.sqrt(Math.max(squares / total - mean * mean, least ** 2, 1e-300));
  const [rest, here] = sums.map((sum, k) => sum / counts[k]);
  const text = (value: number): string => valueText(label, value, 3);
  return { name: label.name, here: text(here), rest: text(rest), size: (here - rest) / spread };
}

/** The category whose share differs most. */
function kindDifference(label: Kinds, rows: readonly number[]): Difference {
  const counts = [new Float64Array(label.kinds.length), new Float64Array(label.kinds.length)];
  for (let i = 0; i < n; i++) counts[selected[i]][label.codes[i]]++;
  const shares = counts.map((kinds, k) => kinds.map((c) => c / (k ? rows.length : n - rows.length)));
  let best = 0;
  const gap = (code: number): number => Math.abs(shares[1][code] - shares[0][code]);
  label.kinds.forEach((_, code) => gap(code) > gap(best) && (best = code));
  const [rest, here] = shares.map((kinds) => `${Math.round(100 * kinds[best])} %`);
  return { name: `${label.name}: ${label.kinds[best]}`, here, rest, size: 3 * gap(best) };
}

/** The selected objects with all their columns, as a file. */
export function download(): void {
  const quoted = (text: string): string => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = [["id", ...labels.map((label) => label.name)].map(quoted).join(",")];
  for (let i = 0; i < n; i++) {
    if (selected[i])
      lines.push([identify(i), ...labels.map((label) => exactly(label, i))].map(quoted).join(","));
  }
  const url = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
  element("a", { href: url, download: "selection.csv" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function exactly(label: Label, i: number): string {
  if (label.kinds) return label.kinds[label.codes[i]];
  const value = label.values[i];
  return Number.isNaN(value) ? "" : String(Number(value.toPrecision(5)));
}

export function find(query: string): number[] {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return [];
  const hits = labels.map((label) => label.kinds?.map((kind) => kind.toLowerCase().includes(wanted)));
  const matches = (i: number): boolean =>
    identify(i).toLowerCase().includes(wanted) ||
    labels.some((label, k) => label.kinds !== null && hits[k]?.[label.codes[i]]);
  return Array.from({ length: n }, (_, i) => i).filter(matches);
}

// --- the object under the pointer ---

let hovered = -1;

export function hover(i: number, event: MouseEvent): void {
  const tip = $("tip");
  tip.hidden = i < 0;
  if (i >= 0) {
    if (i !== hovered) tip.replaceChildren(...details(i));
    const right = event.clientX + 14 + tip.offsetWidth > innerWidth;
    const low = event.clientY + 14 + tip.offsetHeight > innerHeight;
    const x = right ? event.clientX - 14 - tip.offsetWidth : event.clientX + 14;
    const y = low ? event.clientY - 14 - tip.offsetHeight : event.clientY + 14;
    tip.style.transform = `translate(${x}px, ${y}px)`;
  }
  if (i === hovered) return;
  hovered = i;
  views.forEach((view) => view.setRinged(i < 0 ? [] : [i]));
}

function describe(label: Label, i: number): string {
  if (label.kinds) return label.kinds[label.codes[i]];
  return Number.isNaN(label.values[i]) ? "missing" : valueText(label, label.values[i]);
}

function details(i: number): HTMLElement[] {
  const lines: HTMLElement[] = [element("strong", { textContent: identify(i) })];
  const first = labels.filter((label) => label === shown.choice.label);
  const listed = [...first, ...labels.filter((label) => label !== shown.choice.label)];
  for (const label of listed.slice(0, MOST_SHOWN)) {
    lines.push(element("div", {}, `${label.name}: `, element("bdi", { textContent: describe(label, i) })));
  }
  if (listed.length > MOST_SHOWN)
    lines.push(element("div", {}, `and ${listed.length - MOST_SHOWN} more columns`));
  if (images) lines.push(thumbnail(i, images));
  return lines;
}

function thumbnail(i: number, { width, height, columns, sheet }: NonNullable<typeof images>): HTMLElement {
  const grow = Math.max(1, Math.round(96 / Math.max(width, height)));
  const picture = element("i");
  const [x, y] = [(i % columns) * width, Math.floor(i / columns) * height];
  Object.assign(picture.style, {
    width: `${width}px`,
    height: `${height}px`,
    background: `url(data:image/png;base64,${sheet}) -${x}px -${y}px`,
    transform: `scale(${grow})`,
    marginRight: `${width * (grow - 1)}px`,
    marginBottom: `${height * (grow - 1)}px`,
  });
  return picture;
}
