// Lines of equal density of the points that are shown, by marching squares on a grid.

import { boundingBox } from "./camera";
import type { Scene } from "./scene";

const SIDE = 96; // cells of the grid along each side
const BLURS = 3; // passes of a box filter, which together are nearly Gaussian
const REACH = 2; // cells on each side that a pass averages over
const SHARES = [0.9, 0.7, 0.5, 0.25]; // of the points that a line encloses

/** Segments of the lines, four numbers each: from x, y to x, y. */
export function contoursOf({ order, nDim, positions, stride }: Scene): Float32Array {
  const { center, half } = boundingBox(positions, stride);
  const edge = BLURS * REACH + 1; // empty cells around, so that lines close
  const inner = SIDE - 2 * edge;
  const cell = [0, 1].map((d) => (2 * half[d]) / inner);
  const corner = [0, 1].map((d) => center[d] - half[d] - edge * cell[d]);
  let grid: Float32Array = new Float32Array(SIDE * SIDE);
  for (let k = nDim; k < order.length; k++) {
    const j = order[k] * stride;
    const x = Math.floor((positions[j] - corner[0]) / cell[0]);
    const y = Math.floor((positions[j + 1] - corner[1]) / cell[1]);
    grid[Math.min(y, SIDE - 1) * SIDE + Math.min(x, SIDE - 1)]++;
  }
  for (let pass = 0; pass < BLURS; pass++) grid = blur(blur(grid, 1, SIDE), SIDE, 1);
  const segments: number[] = [];
  for (const level of levelsOf(grid)) march(grid, level, segments);
  return Float32Array.from(segments, (value, k) => corner[k % 2] + (value + 0.5) * cell[k % 2]);
}

/** Means over neighbouring cells along one axis. */
function blur(grid: Float32Array, step: number, line: number): Float32Array {
  const out = new Float32Array(grid.length);
  for (let a = 0; a < SIDE; a++) {
    for (let b = 0; b < SIDE; b++) {
      let sum = 0;
      for (let c = Math.max(b - REACH, 0); c <= Math.min(b + REACH, SIDE - 1); c++)
        sum += grid[a * line + c * step];
      out[a * line + b * step] = sum / (2 * REACH + 1);
    }
  }
  return out;
}

/** The densities above which the shares of the points lie. */
function levelsOf(grid: Float32Array): number[] {
  const sorted = grid.slice().sort().reverse();
  const total = sorted.reduce((sum, value) => sum + value, 0);
  return SHARES.map((share) => {
    let [sum, k] = [0, 0];
    while (k < sorted.length - 1 && (sum += sorted[k]) < share * total) k++;
    return sorted[k];
  }).filter((level) => level > 0);
}

/** Appends the segments of one line, in units of cells. */
function march(grid: Float32Array, level: number, segments: number[]): void {
  const cross = (a: number, b: number): number => (level - a) / (b - a);
  for (let y = 0; y < SIDE - 1; y++) {
    for (let x = 0; x < SIDE - 1; x++) {
      const at = y * SIDE + x;
      const [a, b, c, d] = [grid[at], grid[at + 1], grid[at + SIDE + 1], grid[at + SIDE]];
      const ends: number[] = []; // where the line crosses the sides of this cell, in order around it
      if (a < level !== b < level) ends.push(x + cross(a, b), y);
      if (b < level !== c < level) ends.push(x + 1, y + cross(b, c));
      if (d < level !== c < level) ends.push(x + cross(d, c), y + 1);
      if (a < level !== d < level) ends.push(x, y + cross(a, d));
      for (let k = 0; k + 3 < ends.length; k += 4) segments.push(...ends.slice(k, k + 4));
    }
  }
}
