// Draws points without a graphics card: each is stamped into the pixels of the canvas.

import type { Painter, Scene } from "./scene";

/** Offsets and opacities (of 256) of the pixels that make a point. */
function stampOf(size: number, width: number): { reach: number; offsets: Int32Array; cover: Int32Array } {
  const radius = size / 2;
  const reach = Math.ceil(radius);
  const offsets: number[] = [];
  const cover: number[] = [];
  for (let down = -reach; down <= reach; down++) {
    for (let right = -reach; right <= reach; right++) {
      const part = Math.min(Math.max(radius + 0.5 - Math.hypot(right, down), 0), 1);
      if (part > 0.15) {
        offsets.push(down * width + right);
        cover.push(Math.round(256 * part));
      }
    }
  }
  return { reach, offsets: Int32Array.from(offsets), cover: Int32Array.from(cover) };
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

  return { name: "canvas", paint, forget: () => undefined };
}

function stamp(scene: Scene, pixels: Uint32Array, start: number, stop: number, faint: boolean): void {
  const { positions, before, stride, part, colors, order, projection: m, width, height } = scene;
  const { reach, offsets, cover } = stampOf(scene.size * (faint ? 1 : scene.grow), width);
  const opacity = faint ? 0.6 : scene.opacity;
  const spatial = m[8] !== 0 || m[11] !== 0;
  for (let k = start; k < stop; k++) {
    const i = order[k];
    const j = i * stride;
    const at = (d: number): number => (part < 1 ? before[j + d] + (positions[j + d] - before[j + d]) * part : positions[j + d]);
    const [a, b, c] = [at(0), at(1), spatial ? at(2) : 0];
    const x = Math.round(((m[0] * a + m[1] * b + m[2] * c + m[3] + 1) * width) / 2);
    const y = Math.round(((1 - m[4] * a - m[5] * b - m[6] * c - m[7]) * height) / 2);
    if (!(x >= reach && y >= reach && x < width - reach && y < height - reach)) continue;
    const depth = spatial ? m[8] * a + m[9] * b + m[10] * c + m[11] : 0;
    const near = spatial ? Math.min(Math.max(0.7 + 0.45 * depth, 0.3), 1) : 1;
    const color = faint ? scene.faint : colors[i];
    const redBlue = color & 0xff00ff;
    const green = (color >> 8) & 255;
    const strength = opacity * near;
    const base = y * width + x;
    for (let q = 0; q < offsets.length; q++) {
      const alpha = (cover[q] * strength) | 0;
      const under = pixels[base + offsets[q]];
      const rb = (Math.imul(under & 0xff00ff, 256 - alpha) + Math.imul(redBlue, alpha)) >>> 8;
      const g = Math.imul((under >> 8) & 255, 256 - alpha) + Math.imul(green, alpha);
      pixels[base + offsets[q]] = 0xff000000 | (rb & 0xff00ff) | (g & 0xff00);
    }
  }
}
