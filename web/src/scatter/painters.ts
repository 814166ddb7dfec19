// The painter that is fastest for some number of points.

import type { Painter } from "./scene";
import { stampPainter } from "./stamp";
import { webglPainter } from "./webgl";

const MANY = 100_000; // points, from which stamping is faster than a graphics card in software

let webgl: Painter | null | undefined;
let stamps: Painter | undefined;

export function painterOf(n: number, withoutWebgl: boolean): Painter {
  if (webgl === undefined) webgl = webglPainter();
  if (!withoutWebgl && webgl && !(webgl.slow && n > MANY)) return webgl;
  return (stamps ??= stampPainter());
}
