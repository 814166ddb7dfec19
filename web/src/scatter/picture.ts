// A map as a picture to take away: PNG or SVG, with what its colours mean.

import { DOT, leftOf, linesOf, type Key, type Line } from "./key";
import { drawOverlay, fontOf, type Overlay } from "./overlay";
import type { Painter, Scene } from "./scene";
import { svgOf } from "./svg";

const canvasOf = (width: number, height: number): HTMLCanvasElement =>
  Object.assign(document.createElement("canvas"), { width, height });

/** The lines of a key, and the width that they need in CSS pixels. */
function layout(key: Key | null, height: number): { lines: Line[]; strip: number } {
  const lines = key ? linesOf(key, height) : [];
  const context = canvasOf(1, 1).getContext("2d")!;
  const ends = lines.map((line) => {
    context.font = fontOf(1, line.bold);
    return leftOf(line) + context.measureText(line.text).width + DOT.x;
  });
  return { lines, strip: Math.ceil(Math.max(0, ...ends)) };
}

/** The picture on its paper; `scale` pixels are a CSS pixel. */
export async function png(
  painter: Painter,
  scene: Scene,
  overlay: Overlay,
  key: Key | null,
  scale: number,
): Promise<Blob> {
  const { width, height } = scene;
  const points = canvasOf(width, height);
  painter.paint(scene, points.getContext("2d")!, Infinity);
  painter.forget(scene);
  const { lines, strip } = layout(key, height / scale);
  const whole = canvasOf(width + Math.round(strip * scale), height);
  const context = whole.getContext("2d")!;
  context.fillStyle = overlay.paper;
  context.fillRect(0, 0, whole.width, height);
  context.drawImage(points, 0, 0);
  drawOverlay(context, overlay);
  context.setTransform(scale, 0, 0, scale, width, 0);
  context.textAlign = "left";
  for (const line of lines) {
    if (line.color) {
      context.fillStyle = line.color;
      context.beginPath();
      context.arc(DOT.x, line.y, DOT.radius, 0, 2 * Math.PI);
      context.fill();
    }
    context.fillStyle = overlay.ink;
    context.font = fontOf(1, line.bold);
    context.fillText(line.text, leftOf(line), line.y);
  }
  return new Promise((resolve, reject) =>
    whole.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("The browser made no picture."))),
      "image/png",
    ),
  );
}

export function svg(scene: Scene, overlay: Overlay, key: Key | null): string {
  const { lines, strip } = layout(key, scene.height);
  return svgOf(scene, overlay, lines, strip);
}
