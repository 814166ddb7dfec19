// What the reader can do.

import { batch } from "@preact/signals";
import * as api from "./api";
import { load, newestOf, rowOf } from "./coordinates";
import { attempt, undoable } from "./notices";
import { forget, leaving } from "./server";
import {
  activeId,
  colorBy,
  compare,
  datasetId,
  datasets,
  forms,
  hiddenKinds,
  maps,
  methods,
  MOST_SHOWN,
  pace,
  picked,
  selection,
  shown,
  titleOf,
} from "./signals";
import type { Dataset, MapInfo, Value } from "./types";

export function showDataset(id: string): void {
  batch(() => {
    if (datasetId.value !== id) {
      colorBy.value = "";
      hiddenKinds.value = new Set();
      picked.value = null;
      selection.value = null;
    }
    datasetId.value = id;
    const last = [...maps.value.values()].filter((map) => map.dataset === id).at(-1);
    if (last) showMap(last.id);
    else {
      shown.value = [];
      activeId.value = null;
    }
  });
}

/** Shows a map alone, or beside those that are there. */
export function showMap(id: string, beside = compare.value): void {
  const map = maps.value.get(id);
  batch(() => {
    const others = shown.value.filter((one) => one !== id && maps.value.get(one)?.dataset === map?.dataset);
    shown.value = beside ? [...others.slice(-(MOST_SHOWN - 1)), id] : [id];
    activeId.value = id;
    if (map) datasetId.value = map.dataset;
  });
  if (!newestOf(id).value) void attempt(() => load(id));
}

export function hideMap(id: string): void {
  shown.value = shown.value.filter((one) => one !== id);
  if (activeId.value === id) activeId.value = shown.value.at(-1) ?? null;
}

export async function openDataset(body: unknown): Promise<Dataset | null> {
  return taken(await attempt(() => api.post<Dataset>("/api/datasets", body)));
}

export async function openFile(file: File): Promise<Dataset | null> {
  return taken(await attempt(() => api.upload<Dataset>(file)));
}

function taken(made: Dataset | null): Dataset | null {
  if (!made) return null;
  datasets.value = new Map(datasets.value).set(made.id, made);
  showDataset(made.id);
  return made;
}

// The stream tells what changes: the answer to a request may be older than its newest message.

let changing: Promise<unknown> = Promise.resolve(); // until the server has made the changes of data

export async function changeDataset(id: string, change: unknown): Promise<void> {
  await (changing = Promise.all([changing, attempt(() => api.patch(`/api/datasets/${id}`, change))]));
}

/** Writes a text on objects; an empty one removes what was written. */
export async function annotate(dataset: string, rows: ArrayLike<number>, text: string): Promise<void> {
  await attempt(() => api.patch(`/api/datasets/${dataset}/annotations`, { rows: Array.from(rows), text }));
}

export interface Start {
  dataset: string;
  method: string;
  parameters: Readonly<Record<string, Value>>;
  rows?: number[];
  title?: string;
  from?: string;
  /** Places by row at which objects are held. */
  pins?: Readonly<Record<string, readonly number[]>>;
}

export async function embed(given: Start): Promise<MapInfo | null> {
  await changing; // a fit is to the data as the page shows them
  const live = methods.value.find((one) => one.name === given.method)?.live ?? false;
  const made = await attempt(() =>
    api.post<MapInfo>("/api/maps", live ? { ...given, pace: pace.value } : given),
  );
  if (!made) return null;
  if (!maps.value.has(made.id)) maps.value = new Map(maps.value).set(made.id, made);
  showMap(made.id);
  return made;
}

export type Command = "pause" | "continue" | "step" | "stop";

export async function command(map: MapInfo, name: Command): Promise<void> {
  await attempt(() => api.post(`/api/maps/${map.id}/${name}`));
}

/** Changes a run while it goes on: `{ parameters }` or `{ pace }`. */
export async function tune(
  map: MapInfo,
  change: { parameters: Record<string, Value> } | { pace: number | null },
): Promise<void> {
  await attempt(() => api.patch(`/api/maps/${map.id}`, change));
}

/** Takes a map from the screen at once, and from the server when it can no longer be undone. */
export function discard(map: MapInfo): void {
  const { id } = map;
  const beside = shown.value.length > 1;
  leaving.set(id, map);
  forget(id);
  undoable(
    `${titleOf(map)} is deleted.`,
    () => {
      const kept = leaving.get(id) ?? map;
      leaving.delete(id);
      maps.value = new Map(maps.value).set(id, kept);
      showMap(id, beside);
    },
    () => void remove("maps", id).then(() => leaving.delete(id)),
  );
}

/** Deletes a map or a data set with its maps. */
export async function remove(kind: "maps" | "datasets", id: string): Promise<void> {
  if ((await attempt(async () => (await api.remove(`/api/${kind}/${id}`), true))) !== null) forget(id);
}

export function setParameter(name: string, parameter: string, value: Value | undefined): void {
  const form = { ...forms.value.get(name) };
  if (value === undefined) delete form[parameter];
  else form[parameter] = value;
  forms.value = new Map(forms.value).set(name, form);
}

export function select(map: MapInfo, points: Uint32Array): void {
  const rows = map.rows === null ? points : points.map((point) => rowOf(map, point));
  selection.value = rows.length ? { dataset: map.dataset, rows } : null;
}
