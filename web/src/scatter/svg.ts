// A map as SVG: one path per colour, in which each point is a round dot.

import { hex } from "./color";
import { DOT, leftOf, type Line } from "./key";
import { CONTOUR, eachSegment, fontOf, placeNames, type Overlay } from "./overlay";
import type { Scene } from "./scene";

const MOST = 200_000; // points; beyond that an evenly drawn sample, because editors cannot open the file

/** The map, and to its right the lines of a key on a strip of some width. */
export function svgOf(scene: Scene, overlay: Overlay, key: readonly Line[], strip: number): string {
  const { width, height, order, nDim, colors, size } = scene;
  const inside = ([x, y]: readonly [number, number]): boolean =>
    x >= 0 && y >= 0 && x <= width && y <= height;
  const paths = (start: number, stop: number, color: (i: number) => number): [number, string[]][] => {
    const found = new Map<number, string[]>();
    const step = Math.max(1, (stop - start) / MOST);
    for (let k = start; k < stop; k += step) {
      const i = order[Math.floor(k)];
      const at = overlay.place(i);
      if (!at || !inside(at)) continue;
      const dots = found.get(color(i)) ?? [];
      dots.push(`M${at[0].toFixed(1)} ${at[1].toFixed(1)}h0`);
      found.set(color(i), dots);
    }
    return [...found];
  };
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width + strip}" height="${height}" viewBox="0 0 ${width + strip} ${height}">`,
    `<rect width="100%" height="100%" fill="${rgbHex(overlay.paper)}"/>`,
    `<g fill="none" stroke-linecap="round" stroke-width="${size.toFixed(2)}" stroke-opacity="${scene.opacity.toFixed(2)}">`,
  ];
  for (const [color, dots] of paths(0, nDim, () => scene.faint))
    lines.push(`<path stroke="${hex(color)}" stroke-opacity="0.6" d="${dots.join("")}"/>`);
  for (const [color, dots] of paths(nDim, order.length, (i) => colors[i]))
    lines.push(`<path stroke="${hex(color)}" d="${dots.join("")}"/>`);
  lines.push("</g>");
  const isolines: string[] = [];
  eachSegment(overlay, (from, to) =>
    isolines.push(`M${from.map((v) => v.toFixed(1)).join(" ")}L${to.map((v) => v.toFixed(1)).join(" ")}`),
  );
  if (isolines.length)
    lines.push(
      `<path fill="none" stroke="${rgbHex(overlay.ink)}" stroke-opacity="${CONTOUR}" d="${isolines.join("")}"/>`,
    );
  for (const [from, to] of overlay.lines) {
    const [a, b] = [overlay.place(from), overlay.place(to)];
    if (a && b)
      lines.push(
        `<line x1="${a[0].toFixed(1)}" y1="${a[1].toFixed(1)}" x2="${b[0].toFixed(1)}" y2="${b[1].toFixed(1)}" stroke="${overlay.accent}" stroke-width="1.5"/>`,
      );
  }
  const context = document.createElement("canvas").getContext("2d")!;
  context.font = fontOf(1);
  lines.push(
    `<g font-family="system-ui, sans-serif" font-size="12" font-weight="600" text-anchor="middle" fill="${rgbHex(overlay.ink)}" stroke="${rgbHex(overlay.paper)}" stroke-width="4" stroke-linejoin="round" paint-order="stroke">`,
  );
  for (const { text, x, y } of placeNames(overlay, (text) => context.measureText(text).width)) {
    lines.push(`<text x="${x.toFixed(1)}" y="${(y + 4).toFixed(1)}">${escapeXml(text)}</text>`);
  }
  lines.push(
    "</g>",
    `<g transform="translate(${width} 0)" font-family="system-ui, sans-serif" font-size="12" fill="${rgbHex(overlay.ink)}">`,
  );
  for (const line of key) {
    if (line.color)
      lines.push(`<circle cx="${DOT.x}" cy="${line.y}" r="${DOT.radius}" fill="${rgbHex(line.color)}"/>`);
    const weight = line.bold ? ' font-weight="600"' : "";
    lines.push(`<text x="${leftOf(line)}" y="${line.y + 4}"${weight}>${escapeXml(line.text)}</text>`);
  }
  return [...lines, "</g>", "</svg>", ""].join("\n");
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** A colour of CSS, "rgb(1, 2, 3)", as SVG editors read it. */
function rgbHex(color: string): string {
  const parts = color.match(/\d+/g);
  if (!color.startsWith("rgb") || !parts) return color;
  return `#${parts.map((part) => Number(part).toString(16).padStart(2, "0")).join("")}`;
}
