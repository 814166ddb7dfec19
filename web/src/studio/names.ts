// Names of objects: their ids, where the data have them, else their row numbers.

import { signal, type Signal } from "@preact/signals";
import * as api from "./api";
import { datasets } from "./signals";

const known = new Map<string, Signal<string | null>>();
let waiting = new Map<string, Set<number>>();

/** The id of an object, which is asked for when it is first needed, or its row number. */
export function nameOf(dataset: string, row: number): string {
  const ids = datasets.value.get(dataset)?.ids;
  if (ids === null || ids === undefined) return `row ${row}`;
  const key = `${dataset}/${ids}/${row}`;
  let found = known.get(key);
  if (!found) {
    known.set(key, (found = signal(null)));
    if (!waiting.size) queueMicrotask(() => void ask(ids));
    waiting.set(dataset, (waiting.get(dataset) ?? new Set()).add(row));
  }
  return found.value ?? `row ${row}`;
}

/** Asks for all names that were needed at once in one request. */
async function ask(ids: string): Promise<void> {
  const wanted = waiting;
  waiting = new Map();
  for (const [dataset, rows] of wanted) {
    const list = [...rows];
    const path = `/api/datasets/${dataset}/names?rows=${list.join()}`;
    const names = await api.get<string[]>(path).catch(() => []);
    list.forEach((row, k) => {
      const found = known.get(`${dataset}/${ids}/${row}`);
      if (found && names[k] !== undefined) found.value = names[k];
    });
  }
}
