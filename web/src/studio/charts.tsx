// Small charts as SVG: loss curves, histograms, R_NX curves, Shepard diagrams.

import type { JSX } from "preact";
import { number } from "./format";

type Point = readonly [number, number];

const path = (points: readonly Point[]): string =>
  points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** The loss over the iterations, on a logarithmic scale where it spans decades. */
export function LossCurve({
  losses,
  label,
}: {
  losses: readonly Point[];
  label: string;
}): JSX.Element | null {
  const known = losses.filter(([, y]) => Number.isFinite(y));
  if (known.length < 2) return null;
  const [width, height] = [160, 32];
  const values = known.map(([, y]) => y);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const log = low > 0 && high / low > 30;
  const scale = (y: number): number =>
    log ? Math.log(y / low) / Math.log(high / low) : (y - low) / (high - low || 1);
  const last = known[known.length - 1][0] || 1;
  const points = known.map(([x, y]): Point => [
    (x / last) * (width - 4) + 2,
    height - 3 - scale(y) * (height - 6),
  ]);
  return (
    <svg
      class="loss"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path class="area" d={`${path(points)}V${height}H2Z`} />
      <path class="curve" d={path(points)} />
    </svg>
  );
}

export function Histogram({ counts, label }: { counts: readonly number[]; label: string }): JSX.Element {
  const [width, height] = [96, 22];
  const most = Math.max(...counts, 1);
  const side = width / counts.length;
  return (
    <svg
      class="histogram"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {counts.map((value, k) => {
        const tall = value ? Math.max((value / most) * height, 1) : 0;
        return (
          <rect key={k} x={k * side} y={height - tall} width={Math.max(side - 0.6, 0.4)} height={tall} />
        );
      })}
    </svg>
  );
}

export interface Curve {
  name: string;
  points: readonly Point[];
}

/** R_NX(K) of several maps over log K. */
export function RnxChart({ curves }: { curves: readonly Curve[] }): JSX.Element | null {
  const known = curves.filter((curve) => curve.points.length > 1);
  if (!known.length) return null;
  const [width, height, left, bottom, top] = [300, 180, 30, 30, 8];
  const sizes = known.flatMap((curve) => curve.points.map(([k]) => k));
  const [least, most] = [Math.max(Math.min(...sizes), 1), Math.max(...sizes, 2)];
  const x = (k: number): number =>
    left + ((width - left - 8) * Math.log(Math.max(k, 1) / least)) / Math.log(most / least);
  const y = (r: number): number => top + (height - top - bottom) * (1 - Math.max(r, 0));
  const decades: number[] = [];
  for (let k = 1; k <= most; k *= 10) if (k >= least) decades.push(k);
  return (
    <figure class="chart">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`R_NX curves of ${known.map((one) => one.name).join(", ")}`}
      >
        {[0, 0.25, 0.5, 0.75, 1].map((r) => (
          <g key={r}>
            <line class="grid" x1={left} x2={width - 8} y1={y(r)} y2={y(r)} />
            {r * 2 === Math.round(r * 2) && (
              <text class="end" x={left - 5} y={y(r) + 4}>
                {r}
              </text>
            )}
          </g>
        ))}
        {decades.map((k) => (
          <g key={k}>
            <line class="grid" x1={x(k)} x2={x(k)} y1={top} y2={height - bottom} />
            <text class="middle" x={x(k)} y={height - bottom + 14}>
              {k.toLocaleString("en")}
            </text>
          </g>
        ))}
        <text class="middle" x={(left + width) / 2} y={height - 3}>
          neighbourhood size K
        </text>
        {known.map((curve, place) => (
          <path
            key={curve.name}
            class={`curve line${place % 4}`}
            d={path(curve.points.map(([k, r]): Point => [x(k), y(r)]))}
          />
        ))}
      </svg>
      <figcaption class="keys">
        {known.map((curve, place) => (
          <span key={curve.name}>
            <i class={`key line${place % 4}`} />
            {curve.name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

/** Distances on the map over distances in the data. */
export function Shepard({ pairs, name }: { pairs: readonly Point[]; name: string }): JSX.Element | null {
  if (!pairs.length) return null;
  const [width, height, left, bottom] = [300, 170, 12, 18];
  const right = Math.max(...pairs.map(([a]) => a)) || 1;
  const top = Math.max(...pairs.map(([, b]) => b)) || 1;
  const dots = pairs
    .map(
      ([a, b]) =>
        `M${(left + ((width - left - 4) * a) / right).toFixed(1)} ${((height - bottom) * (1 - b / top) + 2).toFixed(1)}h0`,
    )
    .join("");
  return (
    <figure class="chart">
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={`Shepard diagram of ${name}, ${pairs.length} pairs`}
      >
        <path class="axis" d={`M${left} 2V${height - bottom}H${width}`} />
        <path class="pairs" d={dots} />
        <text class="middle" x={width / 2} y={height - 4}>
          distance in the data, to {number(right)}
        </text>
        <text class="middle" transform={`rotate(-90 8 ${height / 2 - 8})`} x={8} y={height / 2 - 8}>
          on the map
        </text>
      </svg>
    </figure>
  );
}

/** A bar from the middle: left for less, right for more. */
export function EffectBar({ effect, most }: { effect: number; most: number }): JSX.Element {
  const share = Math.min(Math.abs(effect) / (most || 1), 1) * 50;
  return (
    <svg class="effect" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect class="track" x="0" y="4" width="100" height="2" />
      <rect
        class={effect < 0 ? "less" : "more"}
        x={effect < 0 ? 50 - share : 50}
        y="1"
        width={share}
        height="8"
        rx="1"
      />
    </svg>
  );
}
