// Everything the page knows, as signals, and what changes it.

import { batch, computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import type { Mode } from "../scatter";
import type { Theme } from "../scatter";
import { aligned } from "./align";
import * as api from "./api";
import { connect, watch, type Frame, type Message } from "./stream";
import type { Dataset, Layout, MapInfo, Method, State, Toy, Value } from "./types";

export const MOST_SHOWN = 4;

const known = signal(false); // the state of the server
export const version = signal("");
export const root = signal("");
export const datasets = signal<ReadonlyMap<string, Dataset>>(new Map());
export const maps = signal<ReadonlyMap<string, MapInfo>>(new Map());
export const methods = signal<readonly Method[]>([]);
export const toys = signal<readonly Toy[]>([]);
export const ready: ReadonlySignal<boolean> = computed(() => known.value && methods.value.length > 0);

export const datasetId = signal<string | null>(null);
export const shown = signal<readonly string[]>([]);
export const activeId = signal<string | null>(null);
export const methodName = signal("TSNE");
export const forms = signal<ReadonlyMap<string, Readonly<Record<string, Value>>>>(new Map());
export const colorBy = signal("");
export const hiddenKinds = signal<ReadonlySet<number>>(new Set());
export const showNames = signal(true);
export const align = signal(true);
export const mode = signal<Mode>("move");
export const selection = signal<Rows | null>(null);
export const hovered = signal<RowOf | null>(null);
export const picked = signal<RowOf | null>(null);
export const themeChoice = signal<"auto" | "light" | "dark">("auto");
export const lessonStep = signal<number | null>(null);
export const compare = signal(false);
/** Iterations per second of the runs, so that small ones can be watched; null is full speed. */
export const pace = signal<number | null>(150);

/** The panel of questions that is open. */
export type Tab = "colours" | "point" | "selection" | "quality" | "suspects";
export const tab = signal<Tab>("colours");

export interface Rows {
  dataset: string;
  rows: Uint32Array;
}

export interface RowOf {
  dataset: string;
  row: number;
}

export const dataset: ReadonlySignal<Dataset | null> = computed(
  () => datasets.value.get(datasetId.value ?? "") ?? null,
);
export const active: ReadonlySignal<MapInfo | null> = computed(
  () => maps.value.get(activeId.value ?? "") ?? null,
);
export const method: ReadonlySignal<Method | null> = computed(
  () => methods.value.find((one) => one.name === methodName.value) ?? methods.value[0] ?? null,
);

/** Whether a map has coordinates that stay as they are. */
export const settled = (map: MapInfo): boolean => ["done", "stopped", "paused"].includes(map.status);

/** What a map is called on the screen. */
export function titleOf(map: MapInfo): string {
  return map.title || (methods.value.find((one) => one.name === map.method)?.title ?? map.method);
}

export const shownMaps: ReadonlySignal<readonly MapInfo[]> = computed(() =>
  shown.value.map((id) => maps.value.get(id)).filter((map) => map !== undefined),
);

// --- theme ---

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(prefersDark.matches);
prefersDark.addEventListener("change", () => (systemDark.value = prefersDark.matches));
export const theme: ReadonlySignal<Theme> = computed(() =>
  themeChoice.value === "auto" ? (systemDark.value ? "dark" : "light") : themeChoice.value,
);

// --- notices ---

export interface Notice {
  key: number;
  text: string;
  bad: boolean;
}

export const notices = signal<readonly Notice[]>([]);
let nextKey = 0;

export function notify(text: string, bad = false): void {
  const key = nextKey++;
  notices.value = [...notices.value.filter((one) => one.text !== text), { key, text, bad }];
  setTimeout(() => dismiss(key), bad ? 12_000 : 5000);
}

export function dismiss(key: number): void {
  notices.value = notices.value.filter((one) => one.key !== key);
}

/** Runs an action and shows its error, if it has one. */
export async function attempt<T>(action: () => Promise<T>): Promise<T | null> {
  try {
    return await action();
  } catch (error) {
    notify(error instanceof Error ? error.message : String(error), true);
    return null;
  }
}

// --- coordinates ---

/** In place of a frame: the coordinates are of a run with another seed. */
export const OTHER_SEED = -1;

export interface Coordinates {
  positions: Float32Array;
  dim: number;
  frame: number;
}

const newest = new Map<string, Signal<Coordinates | null>>();
const rewinds = new Map<string, Signal<Coordinates | null>>();
const morphs = new Map<string, Signal<string | null>>();
const rowsOfMaps = new Map<string, Signal<Int32Array | null>>();
const displays = new Map<string, ReadonlySignal<Coordinates | null>>();

/** The entry of a map of signals, made when it is first asked for. */
function entry<T>(store: Map<string, Signal<T>>, id: string, first: T): Signal<T> {
  let found = store.get(id);
  if (!found) store.set(id, (found = signal(first)));
  return found;
}

export const newestOf = (id: string): Signal<Coordinates | null> => entry(newest, id, null);
/** An earlier snapshot that is looked at in place of the newest coordinates. */
export const rewindOf = (id: string): Signal<Coordinates | null> => entry(rewinds, id, null);
/** The map into which a map is shown to turn. */
export const morphOf = (id: string): Signal<string | null> => entry(morphs, id, null);
/** The rows of the dataset that a map of a subset shows. */
export const rowsOf = (id: string): Signal<Int32Array | null> => entry(rowsOfMaps, id, null);

/** The coordinates that are on the screen: rewound, turned into another map, aligned. */
export function displayOf(id: string): ReadonlySignal<Coordinates | null> {
  let found = displays.get(id);
  if (!found) {
    found = computed(() => {
      const own = rewindOf(id).value ?? newestOf(id).value;
      const other = morphOf(id).value;
      if (!own) return null;
      if (other) return brought(other, id, own) ?? own;
      const first = shown.value[0];
      if (!align.value || !first || first === id) return own;
      const target = rewindOf(first).value ?? newestOf(first).value;
      return (target && aligns(id, own, first, target)) ?? own;
    });
    displays.set(id, found);
  }
  return found;
}

function samePoints(a: string, b: string): boolean {
  const [one, two] = [maps.value.get(a), maps.value.get(b)];
  return Boolean(
    one && two && one.dataset === two.dataset && one.rows === null && two.rows === null && one.n === two.n,
  );
}

function aligns(id: string, own: Coordinates, first: string, target: Coordinates): Coordinates | null {
  if (own.dim !== target.dim || !samePoints(id, first)) return null;
  return { ...own, positions: aligned(own.positions, target.positions, own.dim) };
}

/** The coordinates of another map, brought onto those of this one. */
function brought(other: string, id: string, own: Coordinates): Coordinates | null {
  const there = newestOf(other).value;
  return there && aligns(other, there, id, own);
}

/** Point numbers by row of the dataset, for a map of a subset. */
export function pointOf(map: MapInfo, row: number): number {
  if (map.rows === null) return row;
  return rowsOf(map.id).value?.indexOf(row) ?? -1;
}

export function rowOf(map: MapInfo, point: number): number {
  return map.rows === null ? point : (rowsOf(map.id).value?.[point] ?? -1);
}

async function load(id: string): Promise<void> {
  const map = maps.value.get(id);
  if (!map) return;
  if (map.rows !== null && !rowsOf(id).value) {
    const buffer = await api.values(`/api/maps/${id}/rows`);
    if (buffer instanceof ArrayBuffer) rowsOf(id).value = new Int32Array(buffer);
  }
  if (!map.frames && !settled(map)) return; // no coordinates yet
  const positions = await api.floats(`/api/maps/${id}/coordinates`);
  if (positions?.length) newestOf(id).value = { positions, dim: map.dim, frame: map.frames };
}

let rewinding = 0;

/** Shows a snapshot of a map; null shows the newest coordinates again. */
export async function rewind(map: MapInfo, frame: number | null): Promise<void> {
  const mine = ++rewinding;
  const positions =
    frame === null ? null : await api.floats(`/api/maps/${map.id}/coordinates?frame=${frame}`);
  if (mine !== rewinding) return; // the slider has moved on
  rewindOf(map.id).value = positions && frame !== null ? { positions, dim: map.dim, frame } : null;
}

// --- what the server tells ---

/** Frames received so far, by map: for the speed that is shown and for tests. */
export const framesSeen = new Map<string, number>();

function take(message: Message): void {
  if (message.type === "map") {
    const before = maps.value.get(message.map.id);
    maps.value = new Map(maps.value).set(message.map.id, message.map);
    const ended = ["done", "stopped", "failed"].includes(message.map.status);
    if (message.map.error && before?.error !== message.map.error) notify(message.map.error, true);
    if (ended && before && before.status !== message.map.status) void attempt(() => load(message.map.id));
  } else if (message.type === "state") {
    takeState(message);
  } else if (message.type === "dataset") {
    datasets.value = new Map(datasets.value).set(message.dataset.id, message.dataset);
  } else if (message.type === "removed") {
    forget(message.id);
  } else if (message.type === "error") {
    notify(message.error, true);
  }
}

function forget(id: string): void {
  batch(() => {
    const [keptMaps, keptSets] = [new Map(maps.value), new Map(datasets.value)];
    keptSets.delete(id);
    keptMaps.delete(id);
    for (const map of maps.value.values()) if (map.dataset === id) keptMaps.delete(map.id);
    maps.value = keptMaps;
    datasets.value = keptSets;
    shown.value = shown.value.filter((one) => keptMaps.has(one));
    if (!keptMaps.has(activeId.value ?? "")) activeId.value = shown.value.at(-1) ?? null;
    if (!keptSets.has(datasetId.value ?? "")) datasetId.value = [...keptSets.keys()].at(-1) ?? null;
  });
  for (const store of [newest, rewinds, morphs, rowsOfMaps, displays]) store.delete(id);
}

function takeFrame({ number, frame, n, dim, positions }: Frame): void {
  const map = [...maps.value.values()].find((one) => one.number === number);
  if (!map) return;
  framesSeen.set(map.id, (framesSeen.get(map.id) ?? 0) + 1);
  if (map.n !== n || map.dim !== dim) maps.value = new Map(maps.value).set(map.id, { ...map, n, dim });
  newestOf(map.id).value = { positions, dim, frame };
}

function takeState(state: State): void {
  batch(() => {
    datasets.value = new Map(state.datasets.map((one) => [one.id, one]));
    maps.value = new Map(state.maps.map((one) => [one.id, one]));
    root.value = state.root;
    version.value = state.version ?? "";
    if (!known.value) restore(state.layout, state.maps);
    shown.value = shown.value.filter((id) => maps.value.has(id));
    known.value = true;
  });
  shown.value.forEach((id) => void attempt(() => load(id)));
}

function restore(layout: Layout, known: MapInfo[]): void {
  shown.value = layout.shown ?? known.slice(-1).map((map) => map.id);
  activeId.value = layout.active ?? shown.value.at(-1) ?? null;
  datasetId.value = layout.dataset ?? active.value?.dataset ?? [...datasets.value.keys()].at(-1) ?? null;
  colorBy.value = layout.color ?? "";
  showNames.value = layout.names ?? true;
  align.value = layout.align ?? true;
  themeChoice.value = layout.theme ?? "auto";
  methodName.value = layout.method ?? "TSNE";
}

let saving = 0;

function keepLayout(): void {
  const layout: Layout = {
    shown: [...shown.value],
    active: activeId.value,
    dataset: datasetId.value,
    color: colorBy.value,
    names: showNames.value,
    align: align.value,
    theme: themeChoice.value,
    method: methodName.value,
  };
  if (!ready.value) return;
  clearTimeout(saving);
  saving = window.setTimeout(() => void api.post("/api/layout", layout, "PUT").catch(() => undefined), 300);
}

async function readLists(): Promise<void> {
  if (methods.value.length) return;
  const lists = await Promise.all([api.get<Method[]>("/api/methods"), api.get<Toy[]>("/api/toys")]);
  [methods.value, toys.value] = lists;
}

/** Listens to the server, which sends the whole state whenever the connection is made. */
export function start(): void {
  connect({ opened: () => void attempt(readLists), message: take, frame: takeFrame });
  effect(keepLayout);
  effect(() => watch(shown.value));
}

// --- actions ---

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

export async function changeDataset(id: string, change: unknown): Promise<void> {
  const made = await attempt(() => api.patch<Dataset>(`/api/datasets/${id}`, change));
  if (made) datasets.value = new Map(datasets.value).set(id, made);
}

export interface Start {
  dataset: string;
  method: string;
  parameters: Readonly<Record<string, Value>>;
  rows?: number[];
  title?: string;
  from?: string;
}

export async function embed(given: Start): Promise<MapInfo | null> {
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

// The stream tells what commands change: the answer to a request may be older than its newest message.

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

export async function removeMap(id: string): Promise<void> {
  if ((await attempt(async () => (await api.remove(`/api/maps/${id}`), true))) !== null) forget(id);
}

export async function removeDataset(id: string): Promise<void> {
  if ((await attempt(async () => (await api.remove(`/api/datasets/${id}`), true))) !== null) forget(id);
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
