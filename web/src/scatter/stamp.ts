// Draws points without a graphics card: each is stamped into the pixels of the canvas.

import type { Painter, Scene } from "./scene";

/** Offsets and opacities (of 256) of the pixels that make a point. */
function stampOf(size: number, width: number): { reach: number; offsets: number[]; cover: number[] } {
  const radius = size / 2;
  const reach = Math.ceil(radius);
  const offsets: number[] = [];
  const cover: number[] = [];
  for (let down = -reach; down <= reach; down++) {
    for (let right = -reach; right <= reach; right++) {
      const part = Math.min(Math.max(radius + 0.5 - Math.hypot(right, down), 0), 1);
      if (part > 0.15) {
        offsets.push(down * width + right);
        cover.push(256 * part);
      }
    }
  }
  return { reach, offsets, cover };
}

export function stampPainter(): Painter {
  let image: ImageData | null = null;

  function paint(scene: Scene, context: CanvasRenderingContext2D, most: number): void {
    const { width, height, nDim, order, paper } = scene;
    if (image?.width !== width || image.height !== height) image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer);
    pixels.fill(paper);
    stamp(scene, pixels, 0, Math.min(nDim, most), true);
    stamp(scene, pixels, nDim, Math.min(order.length, nDim + most), false);
    context.putImageData(image, 0, 0);
  }

  return { name: "canvas", slow: false, paint, forget: () => undefined };
}

/** One loop over points, without allocation: a million of them take some tens of milliseconds. */
function stamp(scene: Scene, pixels: Uint32Array, start: number, stop: number, faint: boolean): void {
  const { positions, before, stride, part, colors, order, width, height } = scene;
  const { reach, offsets, cover } = stampOf(scene.size * (faint ? 1 : scene.grow), width);
  const opacity = faint ? 0.6 : scene.opacity;
  const [ax, bx, cx, dx, ay, by, cy, dy, az, bz, cz, dz] = scene.projection;
  const spatial = az !== 0 || dz !== 0;
  const moves = part < 1;
  const [right, bottom, count] = [width - reach, height - reach, offsets.length];
  for (let k = start; k < stop; k++) {
    const i = order[k];
    const j = i * stride;
    let a = positions[j];
    let b = positions[j + 1];
    let c = spatial ? positions[j + 2] : 0;
    if (moves) {
      a = before[j] + (a - before[j]) * part;
      b = before[j + 1] + (b - before[j + 1]) * part;
      if (spatial) c = before[j + 2] + (c - before[j + 2]) * part;
    }
    const x = (((ax * a + bx * b + cx * c + dx + 1) * width) / 2 + 0.5) | 0;
    const y = (((1 - ay * a - by * b - cy * c - dy) * height) / 2 + 0.5) | 0;
    if (x < reach || y < reach || x >= right || y >= bottom) continue;
    const near = spatial ? Math.min(Math.max(0.7 + 0.45 * (az * a + bz * b + cz * c + dz), 0.3), 1) : 1;
    const color = faint ? scene.faint : colors[i];
    const redBlue = color & 0xff00ff;
    const green = (color >> 8) & 255;
    const strength = opacity * near;
    const base = y * width + x;
    for (let q = 0; q < count; q++) {
      const place = base + offsets[q];
      const alpha = (cover[q] * strength) | 0;
      const under = pixels[place];
      const rb = (Math.imul(under & 0xff00ff, 256 - alpha) + Math.imul(redBlue, alpha)) >>> 8;
      const g = Math.imul((under >> 8) & 255, 256 - alpha) + Math.imul(green, alpha);
      pixels[place] = 0xff000000 | (rb & 0xff00ff) | (g & 0xff00);
    }
  }
}
