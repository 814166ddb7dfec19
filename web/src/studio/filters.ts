// Filters by columns, and the histograms of what passes all other filters.

import { computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import { linear, type Scale } from "../scatter";
import { columnOf } from "./colors";
import * as state from "./state";
import type { Column, Dataset } from "./types";

/** A range of values, or the codes of the categories that pass. */
export type Filter = { low: number; high: number } | { codes: ReadonlySet<number> };

/** The filters of the data set that is shown, by column. */
export const filters = signal<ReadonlyMap<string, Filter>>(new Map());

export const BINS = 32; // of a column of numbers
export const MOST_KINDS = 250; // categories that are counted one by one
const MISSING = 255; // in place of a bin

/** A column as filters see it: the bin of each row, and which rows its own filter removes. */
interface Sorted {
  bins: Uint8Array;
  n: number; // of bins
  scale: Scale; // of the bins' edges
  names: readonly string[];
  values: ArrayLike<number>; // numbers or codes
  removed: Uint8Array | null;
  filter: Filter | undefined;
}

const sorted = new Map<string, Sorted>();
let owner = ""; // the data set of all that is kept here
let failing = new Uint8Array(0); // how many filters a row does not pass

/** The bins of a column; null until its values are there. */
export function sortedColumn(data: Dataset, { name }: Column): Sorted | null {
  own(data);
  const known = sorted.get(name);
  const found = columnOf(data, name).value;
  if (known || !found) return known ?? null;
  const made: Sorted = {
    bins: new Uint8Array(data.n),
    n: BINS,
    scale: linear(0, 1),
    names: [],
    values: found.kind === "number" ? found.values : found.codes,
    removed: null,
    filter: undefined,
  };
  if (found.kind === "number") {
    made.scale = found.scale;
    for (let i = 0; i < data.n; i++) {
      const place = found.scale.unit(found.values[i]);
      made.bins[i] = place === place ? Math.min(Math.max(Math.floor(place * BINS), 0), BINS - 1) : MISSING;
    }
  } else {
    made.names = found.names;
    made.n = Math.min(found.names.length, MOST_KINDS);
    for (let i = 0; i < data.n; i++) {
      const code = found.codes[i];
      made.bins[i] = code < 0 || code >= MOST_KINDS ? MISSING : code;
    }
  }
  sorted.set(name, made);
  return made;
}

/** Forgets the columns of another data set. */
function own(data: Dataset): void {
  const key = `${data.id}/${data.n}`;
  if (key === owner) return;
  owner = key;
  sorted.clear();
  failing = new Uint8Array(data.n);
}

/** Works out which rows the filter of a column removes, where it has changed. */
function apply(column: Sorted, filter: Filter | undefined): void {
  if (column.filter === filter) return;
  const { removed: before, values } = column;
  const out = filter ? new Uint8Array(failing.length) : null;
  if (filter && out) {
    if ("codes" in filter) {
      const fails = Uint8Array.from(column.names, (_, code) => Number(!filter.codes.has(code)));
      for (let i = 0; i < out.length; i++) out[i] = fails[values[i]] ?? 1;
    } else {
      const { low, high } = filter;
      for (let i = 0; i < out.length; i++)
        out[i] = 1 - (Number(values[i] >= low) & Number(values[i] <= high));
    }
    for (let i = 0; i < out.length; i++) failing[i] += out[i];
  }
  if (before) for (let i = 0; i < before.length; i++) failing[i] -= before[i];
  column.filter = filter;
  column.removed = out;
}

/** For each row how many filters remove it; null if there is no filter. */
export const removing: ReadonlySignal<{ dataset: string; rows: Uint8Array; left: number } | null> = computed(
  () => {
    const data = state.dataset.value;
    const asked = filters.value;
    if (!data || (!asked.size && ![...sorted.values()].some((column) => column.filter))) return null;
    for (const column of data.columns) {
      const filter = asked.get(column.name);
      const found = filter ? sortedColumn(data, column) : sorted.get(column.name);
      if (found) apply(found, filter);
    }
    if (!asked.size) return null;
    let left = 0;
    for (let i = 0; i < failing.length; i++) left += Number(failing[i] === 0);
    return { dataset: data.id, rows: failing, left };
  },
);

/** How many rows are in each bin: of all, and of those that pass the filters of all other columns. */
export function countsOf(column: Sorted): Uint32Array {
  const rows = removing.value?.rows;
  const { bins, removed } = column;
  const counts = new Uint32Array(256);
  if (!rows) for (let i = 0; i < bins.length; i++) counts[bins[i]]++;
  else if (!removed) for (let i = 0; i < bins.length; i++) counts[bins[i]] += Number(rows[i] === 0);
  else for (let i = 0; i < bins.length; i++) counts[bins[i]] += Number(rows[i] === removed[i]);
  return counts.subarray(0, column.n);
}

export function setFilter(name: string, filter: Filter | null): void {
  const next = new Map(filters.value);
  if (filter) next.set(name, filter);
  else next.delete(name);
  filters.value = next;
}

/** Lets a category pass, or not any more; without one left the filter is gone. */
export function toggleKind(name: string, code: number): void {
  const before = filters.value.get(name);
  const codes = new Set(before && "codes" in before ? before.codes : []);
  if (!codes.delete(code)) codes.add(code);
  setFilter(name, codes.size ? { codes } : null);
}

// Filters belong to one data set.
let last: string | null = null;
effect(() => {
  const now = state.datasetId.value;
  if (now !== last && filters.peek().size) filters.value = new Map();
  last = now;
});
