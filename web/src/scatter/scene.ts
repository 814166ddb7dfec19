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

/** Which points have coordinates, as 1 and 0; null if all have. */
export function placedOf(positions: Float32Array, stride: number): Uint8Array | null {
  const placed = new Uint8Array(positions.length / stride);
  let all = true;
  for (let i = 0; i < placed.length; i++) {
    const sum = positions[i * stride] + positions[i * stride + 1];
    placed[i] = Number(sum === sum); // not NaN
    all &&= sum === sum;
  }
  return all ? null : placed;
}

/** The order in which points are drawn, dim ones first; points without coordinates are left out. */
export function orderOf(
  shuffle: Uint32Array,
  states: Uint8Array | null,
  placed: Uint8Array | null,
): { order: Uint32Array; nDim: number } {
  if (!states && !placed) return { order: shuffle, nDim: 0 };
  const shown = states && placed ? states.map((state, i) => state * placed[i]) : (states ?? placed!);
  const highest = states ? SHOWN : 1;
  const order = new Uint32Array(shuffle.length);
  let [end, nDim] = [0, 0];
  // Without branches, which a processor cannot foresee here.
  const append = (state: number): void => {
    for (let k = 0; k < shuffle.length; k++) {
      order[end] = shuffle[k];
      end += Number(shown[shuffle[k]] === state);
    }
  };
  if (states?.includes(DIM)) append(DIM);
  nDim = end;
  append(highest);
  return { order: order.subarray(0, end), nDim };
}

/** Where the points are in the middle of a move. */
export function halfway({ before, positions, part }: Scene): Float32Array {
  if (part >= 1) return positions;
  return positions.map((value, i) => before[i] + (value - before[i]) * part);
}

const GOLDEN = 0.6180339887498949;

/** One coordinate and a second that only keeps points apart. */
export function spreadOut(line: Float32Array): Float32Array {
  const points = new Float32Array(2 * line.length);
  for (let i = 0; i < line.length; i++) {
    points[2 * i] = line[i];
    points[2 * i + 1] = 2 * ((i * GOLDEN) % 1) - 1;
  }
  return points;
}

/** A scene without points. */
export function emptyScene(projection: Projection): Scene {
  const none = new Float32Array(0);
  return {
    positions: none,
    before: none,
    stride: 2,
    part: 1,
    colors: new Uint32Array(0),
    order: new Uint32Array(0),
    nDim: 0,
    projection,
    width: 0,
    height: 0,
    size: 4,
    opacity: 0.9,
    grow: 1,
    paper: 0,
    faint: 0,
    versions: { positions: 0, colors: 0, order: 0 },
  };
}
