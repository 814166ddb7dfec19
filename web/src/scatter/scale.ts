// Scales of values: where a number stands between the least and the greatest.

export interface Scale {
  how: "linear" | "log" | "ranks";
  low: number;
  high: number;
  /** The place of a value, 0 to 1; NaN for a value that is missing. */
  unit(value: number): number;
  /** The value at a place. */
  at(unit: number): number;
}

/** What a legend says of a scale. */
export const SCALES = { linear: "", log: "logarithmic scale", ranks: "scale of ranks" };

const ENOUGH = 20_000; // values from which quantiles are taken
const EDGES = 256; // quantiles of a scale of ranks
const [LEAST, MOST] = [0.3, 0.7]; // places that a tenth of the values must leave: else nearly all look alike

export function linear(low: number, high: number): Scale {
  const span = high - low || 1;
  return { how: "linear", low, high, unit: (value) => (value - low) / span, at: (unit) => low + unit * span };
}

/** A linear scale, or for skewed values a logarithmic one, or one of ranks. The same rule as in lowdim/plot/colors.py. */
export function scaleOf(values: ArrayLike<number>): Scale {
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (value < low && value > -Infinity) low = value;
    if (value > high && value < Infinity) high = value;
  }
  if (!(high > low)) return linear(low <= high ? low : 0, low <= high ? high : 1);
  const step = Math.max(1, Math.floor(values.length / ENOUGH));
  const sample = new Float64Array(Math.ceil(values.length / step));
  let n = 0;
  for (let i = 0; i < values.length; i += step) if (Number.isFinite(values[i])) sample[n++] = values[i];
  const sorted = sample.subarray(0, n).sort();
  const quantile = (share: number): number => {
    const place = share * (n - 1);
    const [a, b] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
    return a + (b - a) * (place % 1);
  };
  const even = (scale: Scale): boolean =>
    scale.unit(quantile(0.9)) >= LEAST && scale.unit(quantile(0.1)) <= MOST;
  const plain = linear(low, high);
  if (!n || even(plain)) return plain;
  if (low > 0) {
    const [from, span] = [Math.log(low), Math.log(high / low)];
    const log: Scale = {
      how: "log",
      low,
      high,
      unit: (value) => (Math.log(value) - from) / span,
      at: (unit) => low * Math.exp(unit * span),
    };
    if (even(log)) return log;
  }
  const edges = Float64Array.from({ length: EDGES + 1 }, (_, k) => quantile(k / EDGES));
  const rank = (value: number): number =>
    (below(edges, value, false) + below(edges, value, true) - 1) / 2 / EDGES; // the middle of equal ones
  const [first, last] = [rank(low), rank(high)];
  return {
    how: "ranks",
    low,
    high,
    unit: (value) => (value === value ? (rank(value) - first) / (last - first) : NaN),
    at: (unit) => (unit <= 0 ? low : unit >= 1 ? high : quantile(first + unit * (last - first))),
  };
}

/** How many sorted numbers are less than a value, or not greater. */
function below(sorted: Float64Array, value: number, equal: boolean): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (sorted[middle] < value || (equal && sorted[middle] === value)) from = middle + 1;
    else to = middle;
  }
  return from;
}
