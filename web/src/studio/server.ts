// What the server sends, and what it keeps for the next visit.

import { batch, effect, untracked } from "@preact/signals";
import * as api from "./api";
import { arrived, forgetCoordinates, load } from "./coordinates";
import { attempt, notify } from "./notices";
import {
  active,
  activeId,
  align,
  colorBy,
  datasetId,
  datasets,
  ended,
  forms,
  known,
  maps,
  methodName,
  methods,
  ready,
  root,
  shown,
  showNames,
  themeChoice,
  tipFields,
  toys,
} from "./signals";
import { connect, watch, type Frame, type Message } from "./stream";
import type { Layout, MapInfo, Method, State, Toy } from "./types";

/** Maps that the reader has deleted, as long as that can be undone. */
export const leaving = new Map<string, MapInfo>();

function take(message: Message): void {
  if (message.type === "map") {
    if (leaving.has(message.map.id)) return void leaving.set(message.map.id, message.map);
    const before = maps.value.get(message.map.id);
    maps.value = new Map(maps.value).set(message.map.id, message.map);
    if (message.map.error && before?.error !== message.map.error) notify(message.map.error, true);
    if (ended(message.map) && before && !ended(before)) void attempt(() => load(message.map.id));
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

/** Takes a data set or a map from the page. */
export function forget(id: string): void {
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
  forgetCoordinates(id);
}

function takeFrame({ number, frame, n, dim, positions }: Frame): void {
  const map = [...maps.value.values()].find((one) => one.number === number);
  if (!map) return;
  if (map.n !== n || map.dim !== dim) maps.value = new Map(maps.value).set(map.id, { ...map, n, dim });
  arrived(map.id, { positions, dim, frame });
}

function takeState(state: State): void {
  batch(() => {
    datasets.value = new Map(state.datasets.map((one) => [one.id, one]));
    const kept = state.maps.filter((one) => !leaving.has(one.id));
    maps.value = new Map(kept.map((one) => [one.id, one]));
    root.value = state.root;
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
  tipFields.value = layout.fields ?? [];
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
    fields: [...tipFields.value],
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

/** The forms show what the maps on the screen were made with. */
function fillForms(): void {
  const filled = new Map(forms.value);
  for (const id of shown.value) {
    const map = maps.value.get(id);
    const method = methods.value.find((one) => one.name === map?.method);
    const changed = method?.parameters.filter(
      ({ name, default: usual }) => name in map!.parameters && map!.parameters[name] !== usual,
    );
    if (map && changed)
      filled.set(map.method, Object.fromEntries(changed.map(({ name }) => [name, map.parameters[name]])));
  }
  forms.value = filled;
}

/** Listens to the server, which sends the whole state whenever the connection is made. */
export function start(): void {
  connect({ opened: () => void attempt(readLists), message: take, frame: takeFrame });
  const stop = effect(() => {
    if (!ready.value) return;
    untracked(fillForms);
    queueMicrotask(() => stop()); // once, when maps and methods are known
  });
  effect(keepLayout);
  effect(() => watch(shown.value));
}
