// The object that the reader has picked: its record and its true neighbours.

import { signal } from "@preact/signals";
import * as api from "./api";
import * as state from "./state";
import type { MapInfo, RecordOf } from "./types";

/** Rows of the true neighbours of the picked object. */
export const neighbors = signal<{ row: number; dataset: string; rows: number[]; distances: number[] } | null>(
  null,
);
export const record = signal<RecordOf | null>(null);

let asked = 0;

/** Shows an object: its record, its true neighbours. */
export function pick(map: MapInfo, row: number): void {
  asked++;
  if (row < 0) {
    state.picked.value = null;
    neighbors.value = null;
    record.value = null;
    return;
  }
  const mine = asked;
  state.picked.value = { dataset: map.dataset, row };
  const point = state.pointOf(map, row);
  void state.attempt(async () => {
    const found = await api.get<RecordOf>(`/api/datasets/${map.dataset}/records/${row}`);
    if (mine === asked) record.value = found;
  });
  if (point < 0) return;
  void state.attempt(async () => {
    const found = await api.get<{ neighbors: number[]; distances: number[] }>(
      `/api/maps/${map.id}/neighbors/${point}?k=10`,
    );
    const rows = found.neighbors.map((one) => state.rowOf(map, one));
    if (mine === asked) neighbors.value = { row, dataset: map.dataset, rows, distances: found.distances };
  });
}
