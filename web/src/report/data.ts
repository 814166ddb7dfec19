// The data of the page, out of its base64 strings.

import { scaleOf, type Region, type Scale } from "../scatter";

export const NOWHERE = 65535; // an object without a place, or a label without a value
export const UNKNOWN = 255; // an error that was not computed; the others are 0 to 254

type Dates = "days" | "moments"; // values are days since 1970

interface StoredColor {
  name: string;
  feature?: boolean;
  kinds?: string[];
  shades: string[];
  grey: number;
  listed: number[];
  codes: string;
  low: number;
  high: number;
  values: string;
  dates?: Dates;
}

interface StoredMap {
  name: string;
  dims: number;
  low: number[];
  step: number;
  points: string;
  torn?: string;
  false?: string;
  regions?: Region[];
  doubts?: string;
}

interface Stored {
  n: number;
  first: number;
  ids: string[] | null;
  colors: StoredColor[];
  maps: StoredMap[];
  images: { width: number; height: number; columns: number; sheet: string } | null;
}

export interface Kinds {
  name: string;
  feature: boolean;
  kinds: string[];
  shades: string[];
  grey: number;
  listed: number[];
  codes: Uint16Array | Uint32Array;
  hidden: Set<number>;
}

export interface Values {
  name: string;
  feature: boolean;
  kinds: null;
  /** NaN where a value is missing. */
  values: Float32Array;
  scale: Scale;
  dates: Dates | undefined;
}

export type Label = Kinds | Values;

export function $<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

function bytes(base64: string): ArrayBuffer {
  const text = atob(base64);
  const found = new Uint8Array(text.length);
  for (let i = 0; i < found.length; i++) found[i] = text.charCodeAt(i);
  return found.buffer;
}

/** Values from their places between the least and the greatest. */
function valuesOf({ low, high, values }: StoredColor): Float32Array {
  const step = (high - low) / (NOWHERE - 1);
  return Float32Array.from(new Uint16Array(bytes(values)), (q) => (q === NOWHERE ? NaN : low + q * step));
}

const stored = JSON.parse($("data").textContent ?? "") as Stored;
export const { n, first, ids, images } = stored;

export const labels: Label[] = stored.colors.map((label) => {
  const about = { name: label.name, feature: label.feature ?? false };
  if (!label.kinds) {
    const values = valuesOf(label);
    return { ...about, kinds: null, values, scale: scaleOf(values), dates: label.dates };
  }
  const Codes = label.kinds.length > 65536 ? Uint32Array : Uint16Array;
  const { kinds, shades, grey, listed } = label;
  return {
    ...about,
    kinds,
    shades,
    grey,
    listed,
    codes: new Codes(bytes(label.codes)),
    hidden: new Set<number>(),
  };
});

export const maps = stored.maps.map((map) => {
  const q = new Uint16Array(bytes(map.points));
  const positions = new Float32Array(q.length);
  // In the unit of all maps, so that one can be drawn in place of another.
  for (let i = 0; i < q.length; i++)
    positions[i] = q[i] === NOWHERE ? NaN : map.low[i % map.dims] + map.step * q[i];
  const errors = (text: string | undefined): Uint8Array =>
    text ? new Uint8Array(bytes(text)) : new Uint8Array(n).fill(UNKNOWN);
  const regions = map.regions ?? null;
  const share = (byte: number): number => (byte === UNKNOWN ? NaN : byte / (UNKNOWN - 1));
  return {
    name: map.name,
    dims: map.dims,
    positions,
    regions,
    torn: errors(map.torn),
    wrong: errors(map.false),
    /** One minus the reliability of each object, NaN where it is not known. */
    doubts: map.doubts ? Float32Array.from(new Uint8Array(bytes(map.doubts)), share) : null,
  };
});

export const hasErrors = stored.maps.some((map) => map.torn || map.false);
export const sampled = maps.some(({ torn }) => torn.includes(UNKNOWN));

/** The byte that 99 % of the known errors do not exceed; at least a hundredth of the scale. */
export const mostErrors = ((): number => {
  const counts = new Float64Array(256);
  for (const { torn, wrong } of maps) {
    torn.forEach((byte) => counts[byte]++);
    wrong.forEach((byte) => counts[byte]++);
  }
  counts[UNKNOWN] = 0;
  let [left, level] = [counts.reduce((sum, count) => sum + count, 0) * 0.99, 0];
  while (level < UNKNOWN - 1 && (left -= counts[level]) > 0) level++;
  return Math.max(level, 3);
})();

/** A number with four digits, as people write it. */
export function number(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e7 || (size > 0 && size < 1e-4)) return value.toExponential(2);
  return value.toLocaleString("en", { maximumSignificantDigits: size < 1e4 ? 4 : 7 });
}

/** A value of a label as text: a number with at most some digits, a day or a minute. */
export function valueText({ dates }: Values, value: number, digits = 7): string {
  if (!dates) return number(Number(value.toPrecision(digits)));
  const days = dates === "days" ? Math.round(value) : value;
  return new Date(days * 86_400_000).toISOString().slice(0, dates === "days" ? 10 : 16);
}

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  properties: Partial<HTMLElementTagNameMap[K]> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}
