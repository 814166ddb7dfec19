// What a painter draws: points with colours, in an order, on paper.

import type { Projection } from "./camera";

export const HIDDEN = 0;
export const DIM = 1;
export const SHOWN = 2;

export interface Scene {
  /** Coordinates, `stride` numbers per point; `before` are those that they move from. */
  positions: Float32Array;
  before: Float32Array;
  stride: number;
  /** How far the move has come, 0 to 1. */
  part: number;
  colors: Uint32Array;
  /** Point numbers: first those that are dim, then those that are shown; hidden ones are left out. */
  order: Uint32Array;
  nDim: number;
  projection: Projection;
  /** Size of the picture and of a point, in pixels. */
  width: number;
  height: number;
  size: number;
  opacity: number;
  /** How much larger than dim points those shown are. */
  grow: number;
  /** Packed colours of the paper and of dim points. */
  paper: number;
  faint: number;
  /** Changes of the arrays above, so that a painter copies them to the graphics card only then. */
  versions: { positions: number; colors: number; order: number };
}

export interface Painter {
  readonly name: "webgl" | "canvas";
  /** Draws by a graphics card that software imitates. */
  readonly slow: boolean;
  /** Draws the first `most` points of each group into the upper left of a 2-D context. */
  paint(scene: Scene, context: CanvasRenderingContext2D, most: number): void;
  /** Frees what the painter holds for a scene. */
  forget(scene: Scene): void;
}

const MANY = 100_000;

/**
 * 0 to n - 1 in an order that is always the same, so that no category lies on top of all others.
 * Of many points short runs stay together, because memory is read faster in order.
 */
export function shuffled(n: number): Uint32Array {
  const run = n > MANY ? 16 : 1;
  const runs = new Uint32Array(Math.ceil(n / run));
  let seed = 1;
  for (let i = 0; i < runs.length; i++) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((seed / 4294967296) * (i + 1));
    runs[i] = runs[j];
    runs[j] = i;
  }
  if (run === 1) return runs;
  const list = new Uint32Array(n);
  let end = 0;
  for (const first of runs) {
    for (let i = first * run; i < Math.min(n, (first + 1) * run); i++) list[end++] = i;
  }
  return list;
}
