// The object that the reader has picked: its record and its true neighbours.

import { signal } from "@preact/signals";
import * as api from "./api";
import * as state from "./state";
import type { Difference, MapInfo, RecordOf } from "./types";

/** Rows of the true neighbours of the picked object. */
export const neighbors = signal<{
  row: number;
  dataset: string;
  rows: number[];
  distances: number[];
  contrast: Difference[];
  apart: number | null;
} | null>(null);
export const record = signal<RecordOf | null>(null);

export const ALIKE = 50; // objects that are selected as being like one

/** Selects an object and its nearest ones in the data. */
export function selectAlike(map: MapInfo, row: number): void {
  const point = state.pointOf(map, row);
  void state.attempt(async () => {
    const path = `/api/maps/${map.id}/neighbors/${point}?k=${ALIKE - 1}`;
    const found = await api.get<{ neighbors: number[] }>(path);
    state.select(map, Uint32Array.from([point, ...found.neighbors]));
  });
}

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
    const found = await api.get<{
      neighbors: number[];
      distances: number[];
      contrast: Difference[];
      apart: number | null;
    }>(`/api/maps/${map.id}/neighbors/${point}?k=10&contrast=1`);
    const rows = found.neighbors.map((one) => state.rowOf(map, one));
    if (mine === asked) neighbors.value = { ...found, row, dataset: map.dataset, rows };
  });
}
