// What the points are coloured by, and their colours on each map.

import { computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import {
  byCategory,
  byValue,
  categoryColor,
  css,
  fade,
  linear,
  palette,
  plain,
  scaleOf,
  SCALES,
  valueColor,
} from "../scatter";
import { DIM, HIDDEN, SHOWN, type Key, type Names, type Rgb, type Scale, type Theme } from "../scatter";
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
  doubt: {
    title: "Doubt",
    note: "One minus the reliability of an object's place: far neighbours on the map, or in the data, count twice.",
  },
  changed: {
    title: "Changed neighbours",
    note: "Share of an object's nearest on a map that are not among its nearest on the other one.",
  },
  spread: {
    title: "Spread over seeds",
    note: "How far an object moves between runs with other seeds, relative to the map.",
  },
} as const;
export type ErrorKind = keyof typeof ERRORS;

/** Choices of colours by categories that each map has of its own, and where they are asked for. */
export const OF_MAPS: Readonly<Record<string, { title: string; path: string; finding: string }>> = {
  regions: { title: "Regions", path: "regions?points=1", finding: "Finding the regions …" },
  changing: {
    title: "What changes here",
    path: "reasons?points=1",
    finding: "Comparing the features with the map …",
  },
};
/** The choice of colours by what the reader wrote on objects. */
export const NOTES = "annotations";

/** Colours that a reader can choose for a dataset, as [value, title]. */
export function choicesOf(data: Dataset): { labels: [string, string][]; columns: [string, string][] } {
  const entry = (name: string): [string, string] => [`column:${name}`, name];
  const notes: [string, string][] = Object.keys(data.annotations).length ? [[NOTES, "Annotations"]] : [];
  const colored = data.columns.filter((column) => ["number", "category", "date"].includes(column.kind));
  return {
    labels: [
      ...colored.filter((column) => column.role === "label").map((column) => entry(column.name)),
      ...notes,
    ],
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
  const other = kind === "changed" ? otherOf(map) : null;
  if (kind === "changed" && !other) return null;
  const key = [map.id, kind, map.iteration, other?.id, other?.iteration].join("/");
  return fetched(key, async () => {
    const path = `/api/maps/${map.id}/errors?kind=${kind}${other ? `&other=${other.id}` : ""}`;
    const ask = (): Promise<Float32Array | null> => api.floats(path);
    const values = await api.patiently(ask, () => wanted(kind));
    return values && numbers(values);
  }).value;
}

/** The finished map on the screen that a map is compared with: the active one, or the next one beside it. */
export function otherOf(map: MapInfo): MapInfo | null {
  const others = state.shownMaps.value.filter((one) => one.id !== map.id && one.dataset === map.dataset);
  const other = others.find((one) => one.id === state.activeId.value) ?? others[0];
  return other && state.settled(other) ? other : null;
}

const wanted = (kind: ErrorKind): boolean =>
  choice.value === `error:${kind}` || (kind === "doubt" && (state.showTrust.value || !!state.picked.value));

/** How far the place of a point can be believed, from 0 to 1, and the share of points that are below it. */
export function reliabilityOf(map: MapInfo, point: number): { value: number; middle: number } | null {
  const found = errorsOf(map, "doubt");
  if (found?.kind !== "number" || !Number.isFinite(found.values[point])) return null;
  const known = found.values.filter(Number.isFinite).sort();
  return { value: 1 - found.values[point], middle: 1 - known[known.length >> 1] };
}

/** The doubt about each point of a map, if it is to be seen. */
export function doubtsOf(map: MapInfo): Float32Array | null {
  const found = state.showTrust.value ? errorsOf(map, "doubt") : null;
  return found?.kind === "number" ? found.values : null;
}

/** The categories of a finished map by point, its regions for instance. */
export function kindsByPoint(map: MapInfo, what: string): Shading | null {
  if (!state.ended(map)) return null;
  return fetched(`${map.id}/${what}/${map.iteration}`, async () => {
    const path = `/api/maps/${map.id}/${OF_MAPS[what].path}`;
    const found = await api.get<{ categories: string[]; codes: number[] }>(path);
    return categories(found.categories, Int32Array.from(found.codes));
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
  if (data && name === NOTES) return annotationsOf(data);
  return data && name.startsWith("column:") ? columnOf(data, name.slice(7)).value : null;
});

/** What the colours mean, as a heading. */
export const title: ReadonlySignal<string> = computed(() => {
  const kind = errorKind();
  if (kind) return ERRORS[kind].title;
  const name = choice.value;
  return OF_MAPS[name]?.title ?? (name === NOTES ? "Annotations" : name.slice(7));
});

function annotationsOf(data: Dataset): Shading {
  const names = [...new Set(Object.values(data.annotations))].sort();
  const codes = new Int32Array(data.n).fill(-1);
  for (const [row, text] of Object.entries(data.annotations)) codes[Number(row)] = names.indexOf(text);
  return categories(names, codes);
}

/** The shading of one map, by point. */
export function shadingOf(map: MapInfo): Shading | null {
  const kind = errorKind();
  if (kind) return onOneScale(kind, errorsOf(map, kind));
  if (choice.value in OF_MAPS) return kindsByPoint(map, choice.value);
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
  if (!found) return null;
  const theme = state.theme.value;
  if (found.kind === "number") {
    const { scale, show } = found;
    const said = SCALES[scale.how];
    return {
      title: said ? `${title.value}, ${said}` : title.value,
      entries: [1, 0.75, 0.5, 0.25, 0].map((t) => [show(scale.at(t)), css(valueColor(t, theme))] as const),
    };
  }
  const entries = found.names.map((name, code) => [name, found.shades[code]] as const);
  return { title: title.value, entries: entries.filter((_, code) => !state.hiddenKinds.value.has(code)) };
}

export function colorsOf(map: MapInfo, found: Shading | null, theme: Theme, paper: Rgb): Uint32Array | null {
  const doubts = doubtsOf(map);
  const colors = !found
    ? doubts && plain(doubts.length)
    : found.kind === "number"
      ? byValue(found.values, found.scale, theme)
      : byCategory(found.codes, found.shades);
  return colors && doubts?.length === colors.length ? fade(colors, doubts, paper) : colors;
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
  else if (removed) for (let i = 0; i < states.length; i++) states[i] *= Number(removed[i] === 0); // or HIDDEN
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
