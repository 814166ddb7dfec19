// What the points are coloured by, and their colours on each map.

import { computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import {
  byCategory,
  byValue,
  categoryColor,
  css,
  linear,
  palette,
  scaleOf,
  SCALES,
  valueColor,
} from "../scatter";
import { DIM, HIDDEN, SHOWN, type Key, type Names, type Scale, type Theme } from "../scatter";
import * as api from "./api";
import { removing } from "./filters";
import { date, number } from "./format";
import * as state from "./state";
import type { Column, Dataset, MapInfo } from "./types";

/** Values of a column by row, or errors by point. */
export type Shading =
  | {
      kind: "category";
      names: string[];
      codes: ArrayLike<number>;
      shades: string[];
      counts: number[];
    }
  | { kind: "number"; values: Float32Array; scale: Scale; show: (value: number) => string };

export const ERRORS = {
  torn: {
    title: "Torn neighbours",
    note: "Share of an object's true neighbours that the map places far away.",
  },
  false: {
    title: "False neighbours",
    note: "Share of an object's neighbours on the map that are far away in the data.",
  },
  spread: {
    title: "Spread over seeds",
    note: "How far an object moves between runs with other seeds, relative to the map.",
  },
} as const;
export type ErrorKind = keyof typeof ERRORS;

/** Colours that a reader can choose for a dataset, as [value, title]. */
export function choicesOf(data: Dataset): { labels: [string, string][]; columns: [string, string][] } {
  const entry = (name: string): [string, string] => [`column:${name}`, name];
  const colored = data.columns.filter((column) => ["number", "category", "date"].includes(column.kind));
  return {
    labels: colored.filter((column) => column.role === "label").map((column) => entry(column.name)),
    columns: colored.filter((column) => column.role !== "label").map((column) => entry(column.name)),
  };
}

/** The choice that holds: the reader's, or the label of the data. */
export const choice: ReadonlySignal<string> = computed(() => {
  const data = state.dataset.value;
  if (state.colorBy.value || !data) return state.colorBy.value || "none";
  if (data.label) return `column:${data.label}`;
  const found = choicesOf(data).labels[0];
  return found ? found[0] : "none";
});

const loaded = new Map<string, Signal<Shading | null>>();

/** Values that are fetched when they are first asked for; null until they are there. */
function fetched(key: string, ask: () => Promise<Shading | null>): Signal<Shading | null> {
  let found = loaded.get(key);
  if (!found) {
    const made = signal<Shading | null>(null);
    loaded.set(key, (found = made));
    // Asked for inside of computations, which must not depend on what the request reads.
    queueMicrotask(() => {
      void state.attempt(ask).then((shading) => {
        made.value = shading;
        if (!shading) loaded.delete(key);
      });
    });
  }
  return found;
}

/** The values of a column by row. */
export function columnOf(data: Dataset, name: string): Signal<Shading | null> {
  return fetched(`${data.id}/${data.n}/${name}`, async () => {
    const found = await api.values(`/api/datasets/${data.id}/values/${encodeURIComponent(name)}`);
    if (found instanceof ArrayBuffer)
      return numbers(
        new Float32Array(found),
        data.columns.find((one) => one.name === name),
      );
    return found && categories(found.categories as string[], Int32Array.from(found.codes as number[]));
  });
}

export function numbers(values: Float32Array, column?: Column): Shading {
  const show = column?.kind === "date" ? (value: number): string => date(value, column) : number;
  return { kind: "number", values, scale: scaleOf(values), show };
}

/** Colours for the 30 most frequent categories; in order of the categories, so that 0, 1, 2 ... keep theirs. */
export function categories(names: string[], codes: ArrayLike<number>): Shading {
  const counts = new Array<number>(names.length).fill(0);
  for (let i = 0; i < codes.length; i++) if (codes[i] >= 0) counts[codes[i]]++;
  const most = palette.length;
  const frequent = new Set(
    names
      .map((_, code) => code)
      .sort((a, b) => counts[b] - counts[a])
      .slice(0, most),
  );
  let place = 0;
  const places = names.map((_, code) => (frequent.has(code) ? place++ : most));
  return { kind: "category", names, codes, shades: places.map(categoryColor), counts };
}

/** Errors of a map on the scale that all maps on the screen share. */
function onOneScale(kind: ErrorKind, own: Shading | null): Shading | null {
  if (own?.kind !== "number") return own;
  const others = state.shownMaps.value.map((map) => errorsOf(map, kind));
  const high = Math.max(...others.map((one) => (one?.kind === "number" ? one.scale.high : 0)));
  return { ...own, scale: linear(0, high) };
}

/** Errors of a finished map by point; null until they are computed. */
function errorsOf(map: MapInfo, kind: ErrorKind): Shading | null {
  if (!state.settled(map)) return null;
  return fetched(`${map.id}/${kind}/${map.iteration}`, async () => {
    const ask = (): Promise<Float32Array | null> => api.floats(`/api/maps/${map.id}/errors?kind=${kind}`);
    const values = await api.patiently(ask, () => choice.value === `error:${kind}`);
    return values && numbers(values);
  }).value;
}

export function errorKind(): ErrorKind | null {
  const kind = choice.value.startsWith("error:") ? choice.value.slice(6) : "";
  return kind in ERRORS ? (kind as ErrorKind) : null;
}

/** The column that colours the points, for the legend; null if there is none or it is not there yet. */
export const shading: ReadonlySignal<Shading | null> = computed(() => {
  const data = state.dataset.value;
  const name = choice.value;
  return data && name.startsWith("column:") ? columnOf(data, name.slice(7)).value : null;
});

/** The shading of one map, by point. */
export function shadingOf(map: MapInfo): Shading | null {
  const kind = errorKind();
  if (kind) return onOneScale(kind, errorsOf(map, kind));
  const found = shading.value;
  if (!found || map.rows === null) return found;
  const rows = state.rowsOf(map.id).value;
  if (!rows) return null;
  if (found.kind === "number")
    return { ...found, values: Float32Array.from(rows, (row) => found.values[row]) };
  return { ...found, codes: Int32Array.from(rows, (row) => found.codes[row]) };
}

/** What the colours of a map mean, for a picture of it. */
export function keyOf(map: MapInfo): Key | null {
  const found = shadingOf(map);
  const kind = errorKind();
  if (!found) return null;
  const title = kind ? ERRORS[kind].title : choice.value.slice(7);
  const theme = state.theme.value;
  if (found.kind === "number") {
    const { scale, show } = found;
    const said = SCALES[scale.how];
    return {
      title: said ? `${title}, ${said}` : title,
      entries: [1, 0.75, 0.5, 0.25, 0].map((t) => [show(scale.at(t)), css(valueColor(t, theme))] as const),
    };
  }
  const entries = found.names.map((name, code) => [name, found.shades[code]] as const);
  return { title, entries: entries.filter((_, code) => !state.hiddenKinds.value.has(code)) };
}

export function colorsOf(found: Shading | null, theme: Theme): Uint32Array | null {
  if (!found) return null;
  if (found.kind === "number") return byValue(found.values, found.scale, theme);
  return byCategory(found.codes, found.shades);
}

export function namesOf(found: Shading | null): Names | null {
  if (!state.showNames.value || found?.kind !== "category" || found.names.length > 60) return null;
  return { texts: found.names, codes: found.codes, listed: found.names.map((_, code) => code) };
}

/** Which points of a map are shown, dim or hidden; null if all are shown. */
export function statesOf(map: MapInfo, found: Shading | null): Uint8Array | null {
  const chosen = state.selection.value;
  const hidden = state.hiddenKinds.value;
  const removed = removing.value?.dataset === map.dataset ? removing.value.rows : null;
  const selects = chosen !== null && chosen.dataset === map.dataset;
  if (!selects && !hidden.size && !removed) return null;
  const states = new Uint8Array(map.n).fill(selects ? DIM : SHOWN);
  const rows = map.rows === null ? null : state.rowsOf(map.id).value;
  if (selects) {
    const inside = rows ? new Set(chosen.rows) : null;
    if (rows && inside) rows.forEach((row, point) => inside.has(row) && (states[point] = SHOWN));
    else for (const row of chosen.rows) states[row] = SHOWN;
  }
  if (hidden.size && found?.kind === "category") {
    for (let i = 0; i < states.length; i++) if (hidden.has(found.codes[i])) states[i] = HIDDEN;
  }
  if (removed && rows) rows.forEach((row, point) => removed[row] && (states[point] = HIDDEN));
  else if (removed) for (let i = 0; i < states.length; i++) if (removed[i]) states[i] = HIDDEN;
  return states;
}

// Hidden categories belong to one column: another one starts with all of them shown.
let last = "";
effect(() => {
  const now = `${state.datasetId.value ?? ""}/${choice.value}`;
  if (now === last) return;
  last = now;
  if (state.hiddenKinds.peek().size) state.hiddenKinds.value = new Set();
});
