// Small pictures of the classic data sets.

import type { JSX } from "preact";
import { palette } from "../scatter";

type Dot = readonly [number, number, number]; // x, y in -1 to 1; a number from 0 to 1 for its colour

const DOTS = 150;

/** Numbers between 0 and 1 that are always the same. */
function random(seed: number): () => number {
  return () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 4294967296;
  };
}

function dotsOf(name: string): Dot[] {
  const next = random(name.length * 7919 + name.charCodeAt(0));
  const normal = (): number => next() + next() + next() + next() - 2;
  const make = (dot: (t: number, k: number) => Dot): Dot[] =>
    Array.from({ length: DOTS }, (_, k) => dot((k + 0.5) / DOTS, k));
  const blobs = (centers: readonly (readonly [number, number, number])[]): Dot[] =>
    make((_, k) => {
      const place = k % centers.length;
      const [x, y, r] = centers[place];
      return [x + r * normal(), y + r * normal(), place / Math.max(centers.length - 1, 1)];
    });
  if (/roll/.test(name))
    return make((t) => [
      (0.2 + 0.75 * t) * Math.cos(9.4 * t + 1.5),
      (0.2 + 0.75 * t) * Math.sin(9.4 * t + 1.5) * 0.85 + 0.1 * normal() * 0.6,
      t,
    ]);
  if (/s_curve/.test(name))
    return make((t) => {
      const a = 3 * Math.PI * (t - 0.5);
      return [
        Math.sin(a) * 0.7 + 0.08 * normal(),
        Math.sign(a) * (Math.cos(a) - 1) * 0.42 + 0.08 * normal(),
        t,
      ];
    });
  if (/walk/.test(name)) {
    let [x, y] = [-0.7, -0.6];
    return make((t) => {
      x += 0.012 + 0.09 * normal() * 0.7;
      y += 0.009 + 0.09 * normal() * 0.7;
      return [x, y, t];
    });
  }
  if (/trefoil/.test(name))
    return make((t) => {
      const a = 2 * Math.PI * t;
      return [(Math.sin(a) + 2 * Math.sin(2 * a)) * 0.3, (Math.cos(a) - 2 * Math.cos(2 * a)) * 0.3, t];
    });
  if (/bar/.test(name))
    return make((_, k) => [(k % 2 ? 0.35 : -0.35) + 0.12 * (next() - 0.5), 1.7 * (next() - 0.5), k % 2]);
  if (/digit/.test(name))
    return blobs(
      Array.from({ length: 10 }, (_, k) => [
        0.68 * Math.cos(0.63 * k + (k % 2)),
        0.68 * Math.sin(0.63 * k + (k % 2)),
        0.1,
      ]),
    );
  if (/cit/.test(name))
    return make(() => {
      const a = 6.28 * next();
      const r = Math.sqrt(next());
      return [0.9 * r * Math.cos(a), 0.6 * r * Math.sin(a) + 0.2 * Math.cos(3 * a), r];
    });
  if (/sphere/.test(name))
    return make((t) => {
      const a = 30 * t;
      const z = 2 * t - 1;
      const r = Math.sqrt(1 - z * z);
      return [0.85 * r * Math.cos(a), 0.85 * z, (r * Math.sin(a) + 1) / 2];
    });
  if (/helix/.test(name)) return make((t) => [1.7 * (t - 0.5), 0.6 * Math.sin(22 * t), t]);
  if (/gauss/.test(name)) return make((t) => [0.45 * normal(), 0.45 * normal(), t]);
  if (/box/.test(name))
    return make((_, k) => {
      const [a, b] = [2 * next() - 1, 2 * next() - 1];
      const side = k % 3;
      const [x, y, z] = side === 0 ? [a, b, -1] : side === 1 ? [1, a, b] : [a, 1, b];
      return [0.55 * (x - 0.5 * y), 0.6 * z + 0.28 * y + 0.12 * x, side / 2];
    });
  if (/unequal/.test(name))
    return blobs([
      [-0.45, 0.1, 0.3],
      [0.15, 0.5, 0.14],
      [0.55, -0.5, 0.06],
      [0.7, 0.2, 0.1],
    ]);
  return blobs([
    [-0.5, 0.3, 0.12],
    [0.45, 0.45, 0.22],
    [0.2, -0.5, 0.16],
  ]);
}

export function ToyPicture({ name }: { name: string }): JSX.Element {
  const paths = new Map<string, string>();
  for (const [x, y, value] of dotsOf(name.toLowerCase())) {
    const color = palette[Math.min(Math.floor(value * 5), 4)];
    paths.set(color, `${paths.get(color) ?? ""}M${(50 + 42 * x).toFixed(1)} ${(32 - 27 * y).toFixed(1)}h0`);
  }
  return (
    <svg class="toy" viewBox="0 0 100 64" aria-hidden="true">
      {[...paths].map(([color, d]) => (
        <path key={color} d={d} stroke={color} />
      ))}
    </svg>
  );
}
