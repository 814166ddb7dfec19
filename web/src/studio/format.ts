// Numbers and values as people write them.

import type { Column, Value } from "./types";

export function number(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e7 || (size > 0 && size < 1e-4)) return value.toExponential(2);
  return value.toLocaleString("en", { maximumSignificantDigits: size < 1e4 ? 4 : 7 });
}

export const count = (value: number): string => value.toLocaleString("en");
export const plural = (n: number, word: string): string => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

export function duration(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 100) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 90 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}

export function bytes(size: number): string {
  const units = ["B", "kB", "MB", "GB"];
  const power = Math.min(Math.floor(Math.log10(Math.max(size, 1)) / 3), 3);
  return `${number(Number((size / 1000 ** power).toPrecision(3)))} ${units[power]}`;
}

/** A value of a column. */
export const shownValue = (value: Value): string =>
  typeof value === "number" ? number(value) : value === null ? "missing" : String(value);

const DAY = 86_400_000; // milliseconds

/** A date of a column, whose values are days since its origin; with the time where the column needs it. */
export function date(value: number, { origin = 0, low = 0, high = 0 }: Partial<Column>): string {
  if (!Number.isFinite(value)) return "–";
  const text = new Date(Math.round(((origin + value) * DAY) / 1000) * 1000).toISOString();
  return high - low > 7 ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ");
}
