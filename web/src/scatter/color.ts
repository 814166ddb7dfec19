// Colours of points. A packed colour is 0xaabbggrr, the order in which a canvas and WebGL store it.

import type { Scale } from "./scale";

export type Theme = "light" | "dark";
export type Rgb = readonly [number, number, number];

declare const PALETTE: { kinds: string; other: string };

/** Colours from their digits without separators, as the bundle stores them. */
const colorsOf = (digits: string): string[] => digits.match(/.{6}/g)!.map((one) => `#${one}`);

/** Distinct colours for up to 30 categories, the same on light and on dark paper. */
export const palette = colorsOf(PALETTE.kinds);

const VIRIDIS = colorsOf(
  "44015448186a472d7b4240863b528b33638d2c728e26828e21918c1fa088" +
    "28ae803fbc735ec96284d44baddc30d8e219fde725",
).map(rgb);

export function rgb(hex: string): Rgb {
  const long = hex.length === 4 ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
  const number = parseInt(long.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

export function pack([red, green, blue]: Rgb): number {
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}

export function css([red, green, blue]: Rgb): string {
  return `rgb(${red}, ${green}, ${blue})`;
}

export function hex(packed: number): string {
  const [red, green, blue] = [packed & 255, (packed >> 8) & 255, (packed >> 16) & 255];
  return `#${((red << 16) | (green << 8) | blue).toString(16).padStart(6, "0")}`;
}

export function mix(a: Rgb, b: Rgb, share: number): Rgb {
  const part = (k: 0 | 1 | 2): number => Math.round(a[k] + (b[k] - a[k]) * share);
  return [part(0), part(1), part(2)];
}

/** The colour of a category: its own, or grey beyond the palette. */
export function categoryColor(code: number): string {
  return palette[code] ?? PALETTE.other;
}

/** A value in [0, 1] along viridis, without the end that has no contrast with the theme's paper. */
export function valueColor(unit: number, theme: Theme): Rgb {
  const clipped = Math.min(Math.max(unit, 0), 1);
  const place = (theme === "dark" ? 0.2 + 0.8 * clipped : 0.92 * clipped) * (VIRIDIS.length - 1);
  const below = Math.min(Math.floor(place), VIRIDIS.length - 2);
  return mix(VIRIDIS[below], VIRIDIS[below + 1], place - below);
}

/** Packed colours of codes: `shades[code]`, and grey for codes without one. */
export function byCategory(codes: ArrayLike<number>, shades: readonly string[]): Uint32Array {
  const grey = pack(rgb(PALETTE.other));
  const packed = shades.map((shade) => pack(rgb(shade)));
  const colors = new Uint32Array(codes.length);
  for (let i = 0; i < colors.length; i++) colors[i] = packed[codes[i]] ?? grey;
  return colors;
}

const STEPS = 256;

/** Packed colours of numbers on a scale, and grey where a number is missing. */
export function byValue(values: ArrayLike<number>, { unit }: Scale, theme: Theme): Uint32Array {
  const missing = pack(theme === "dark" ? [90, 90, 90] : [190, 190, 190]);
  const shades = Uint32Array.from({ length: STEPS }, (_, k) => pack(valueColor(k / (STEPS - 1), theme)));
  const colors = new Uint32Array(values.length);
  for (let i = 0; i < colors.length; i++) {
    const place = Math.round(unit(values[i]) * (STEPS - 1));
    colors[i] = place === place ? shades[Math.min(Math.max(place, 0), STEPS - 1)] : missing; // not NaN
  }
  return colors;
}

const DOUBT = [0.2, 0.7] as const; // below the first a point keeps its colour, above the second it is almost paper
const FAINTEST = 0.88;

/** Colours mixed with the paper, the more the greater the doubt about a point; NaN counts as none. */
export function fade(colors: Uint32Array, doubts: ArrayLike<number>, paper: Rgb): Uint32Array {
  const [low, high] = DOUBT;
  return colors.map((color, i) => {
    const share = Math.min(Math.max((doubts[i] - low) / (high - low), 0), 1) * FAINTEST;
    if (!(share > 0)) return color;
    return pack(mix([color & 255, (color >> 8) & 255, (color >> 16) & 255], paper, share));
  });
}

/** n times the first colour of the palette. */
export function plain(n: number): Uint32Array {
  return new Uint32Array(n).fill(pack(rgb(palette[0])));
}
