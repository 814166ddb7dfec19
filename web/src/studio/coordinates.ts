// The coordinates of the maps: the newest, those of snapshots, and those on the screen.

import { computed, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { aligned } from "./align";
import * as api from "./api";
import { attempt } from "./notices";
import { align, maps, mode, settled, shown } from "./signals";
import type { MapInfo } from "./types";

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
const pins = new Map<string, Signal<Pins>>();
const rowsOfMaps = new Map<string, Signal<Int32Array | null>>();
const displays = new Map<string, ReadonlySignal<Coordinates | null>>();

/** The entry of a map of signals, made when it is first asked for. */
function entry<T>(store: Map<string, Signal<T>>, id: string, first: T): Signal<T> {
  let found = store.get(id);
  if (!found) store.set(id, (found = signal(first)));
  return found;
}

/** Places, by point, that the reader has moved points of a map to. */
export type Pins = ReadonlyMap<number, readonly number[]>;

export const newestOf = (id: string): Signal<Coordinates | null> => entry(newest, id, null);
/** An earlier snapshot that is looked at in place of the newest coordinates. */
export const rewindOf = (id: string): Signal<Coordinates | null> => entry(rewinds, id, null);
/** The map into which a map is shown to turn. */
export const morphOf = (id: string): Signal<string | null> => entry(morphs, id, null);
/** The points that the reader holds at places, before a map is fitted around them. */
export const pinsOf = (id: string): Signal<Pins> => entry(pins, id, new Map() as Pins);
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
      const held = pinsOf(id).value;
      if (held.size || mode.value === "pin") return moved(own, held);
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

/** Coordinates with the points that are held at their places. */
function moved(own: Coordinates, held: Pins): Coordinates {
  if (!held.size) return own;
  const positions = own.positions.slice();
  held.forEach((place, point) => positions.set(place, point * own.dim));
  return { ...own, positions };
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

/** Counts changes by map; the result tells whether there was no other since: an answer may come too late. */
function turns(): (id: string) => () => boolean {
  const last = new Map<string, object>();
  return (id) => {
    const mine = {};
    last.set(id, mine);
    return () => last.get(id) === mine;
  };
}

const arrival = turns();
const rewinding = turns();

/** Takes coordinates that the server has sent. */
export function arrived(id: string, found: Coordinates): void {
  arrival(id);
  newestOf(id).value = found;
}

/** Asks for the newest coordinates of a map, if it has any. */
export async function load(id: string): Promise<void> {
  const map = maps.value.get(id);
  if (!map) return;
  if (map.rows !== null && !rowsOf(id).value) {
    const buffer = await api.values(`/api/maps/${id}/rows`);
    if (buffer instanceof ArrayBuffer) rowsOf(id).value = new Int32Array(buffer);
  }
  if (!map.frames && !settled(map)) return; // no coordinates yet
  const isNewest = arrival(id);
  const positions = await api.floats(`/api/maps/${id}/coordinates`);
  if (positions?.length && isNewest()) newestOf(id).value = { positions, dim: map.dim, frame: map.frames };
}

/** Shows other coordinates in place of the newest ones, unless others were asked for meanwhile. */
function showInstead({ id, dim }: MapInfo, frame: number, path: string): void {
  const isNewest = rewinding(id);
  void attempt(async () => {
    const positions = await api.floats(`/api/maps/${id}/${path}`);
    if (isNewest()) rewindOf(id).value = positions && { positions, dim, frame };
  });
}

/** Shows a snapshot of a map. */
export const rewind = (map: MapInfo, frame: number): void =>
  showInstead(map, frame, `coordinates?frame=${frame}`);

/** Shows the map of a run with another seed. */
export const showSeed = (map: MapInfo, run: number): void => showInstead(map, OTHER_SEED, `stability/${run}`);

/** Shows the newest coordinates of a map again. */
export function showNewest({ id }: MapInfo): void {
  rewinding(id);
  rewindOf(id).value = null;
}

/** Forgets the coordinates of a map that was removed. */
export function forgetCoordinates(id: string): void {
  for (const store of [newest, rewinds, morphs, pins, rowsOfMaps, displays]) store.delete(id);
}
