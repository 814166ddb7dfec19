// Where points are on a picture, and which points are at a place of it.

import type { Projection } from "./camera";
import type { Place } from "./overlay";
import type { Scene } from "./scene";

/** Where points are on a picture of some size, also in the middle of a move. */
export function placer(
  { positions, before, part, stride }: Scene,
  m: Projection,
  width: number,
  height: number,
): (i: number | ArrayLike<number>) => [number, number] {
  const at = (k: number): number => (part < 1 ? before[k] + (positions[k] - before[k]) * part : positions[k]);
  return (i) => {
    const j = typeof i === "number" ? i * stride : 0;
    const [a, b, c] =
      typeof i === "number" ? [at(j), at(j + 1), stride > 2 ? at(j + 2) : 0] : [i[0], i[1], i[2] ?? 0];
    return [
      ((m[0] * a + m[1] * b + m[2] * c + m[3] + 1) * width) / 2,
      ((1 - m[4] * a - m[5] * b - m[6] * c - m[7]) * height) / 2,
    ];
  };
}

/** Visits all points that are drawn, with their places; without allocation, for a million of them. */
function eachPlace(
  { order, positions, stride }: Scene,
  [ax, bx, cx, dx, ay, by, cy, dy]: Projection,
  width: number,
  height: number,
  visit: (i: number, x: number, y: number) => void,
): void {
  for (let k = 0; k < order.length; k++) {
    const j = order[k] * stride;
    const a = positions[j];
    const b = positions[j + 1];
    const c = stride > 2 ? positions[j + 2] : 0;
    visit(
      order[k],
      ((ax * a + bx * b + cx * c + dx + 1) * width) / 2,
      ((1 - ay * a - by * b - cy * c - dy) * height) / 2,
    );
  }
}

/** The point drawn nearest to a place, given in shares of the canvas; -1 if none is within some pixels. */
export function nearestPoint(
  scene: Scene,
  projection: Projection,
  [across, down]: Place,
  pixels: number,
): number {
  const { width, height } = scene;
  const [px, py] = [across * width, down * height];
  let [found, least] = [-1, pixels * pixels];
  eachPlace(scene, projection, width, height, (i, x, y) => {
    const gap = (x - px) * (x - px) + (y - py) * (y - py);
    if (gap < least) [found, least] = [i, gap];
  });
  return found;
}

/** The points on the picture, dim ones too; null if there are more than `most`. */
export function pointsSeen(
  { order, positions, stride }: Scene,
  m: Projection,
  most: number,
): number[] | null {
  const seen: number[] = [];
  for (let k = 0; k < order.length; k++) {
    const j = order[k] * stride;
    const [a, b, c] = [positions[j], positions[j + 1], stride > 2 ? positions[j + 2] : 0];
    if (Math.abs(m[0] * a + m[1] * b + m[2] * c + m[3]) > 1) continue;
    if (Math.abs(m[4] * a + m[5] * b + m[6] * c + m[7]) > 1) continue;
    if (seen.push(order[k]) > most) return null;
  }
  return seen;
}

const FINEST = 2048; // pixels of the mask of a lasso

/** The points inside a closed line, given in shares of the canvas. */
export function pointsInside(scene: Scene, projection: Projection, line: readonly Place[]): Uint32Array {
  const [width, height] = [Math.min(scene.width, FINEST), Math.min(scene.height, FINEST)];
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  context.beginPath();
  line.forEach(([x, y]) => context.lineTo(x * width, y * height));
  context.fill("evenodd");
  const mask = context.getImageData(0, 0, width, height).data;
  const within: number[] = [];
  eachPlace(scene, projection, width, height, (i, x, y) => {
    if (x < 0 || y < 0 || x >= width || y >= height) return;
    if (mask[4 * (Math.floor(y) * width + Math.floor(x)) + 3] > 127) within.push(i);
  });
  return Uint32Array.from(within).sort();
}
