// What lies above the points: names of categories, lines to neighbours, rings, the lasso.

export interface Names {
  texts: readonly string[];
  codes: ArrayLike<number>;
  /** Categories that may be named; those with the most points that are shown come first. */
  listed: readonly number[];
}

/** A name and the point, or the coordinates, that it is written at. */
export interface Anchor {
  text: string;
  point: number | ArrayLike<number>;
}

export type Place = readonly [number, number];
/** A line between two points, or two places given by their coordinates. */
export type Line = readonly [number | ArrayLike<number>, number | ArrayLike<number>];

export interface Arrow {
  from: readonly number[];
  to: readonly number[];
  text: string;
}

/** An image that is drawn in place of a point, with a frame of its colour. */
export interface Thumbnail {
  point: number;
  image: CanvasImageSource;
  color: string;
}

export interface Overlay {
  anchors: readonly Anchor[];
  /** Where a point, or a place given by its coordinates, is on the picture. */
  place: (point: number | ArrayLike<number>) => Place | null;
  /** Segments of lines of equal density, four coordinates each. */
  contours: Float32Array;
  ringed: readonly number[];
  lines: readonly Line[];
  arrows: readonly Arrow[];
  thumbnails: readonly Thumbnail[];
  lasso: readonly Place[];
  ink: string;
  paper: string;
  accent: string;
  ratio: number;
  radius: number;
  width: number;
  height: number;
}

const MOST_LETTERS = 24;
const ENOUGH = 20_000; // points from which the place of a name is taken
const LEAST_SHARE = 0.02; // of the points of a selection, below which a category is not named

/** For each category the point that is nearest to the median of its points; `some`: of a selection. */
export function anchorsOf(
  names: Names,
  shown: Uint32Array,
  positions: Float32Array,
  stride: number,
  some: boolean,
): Anchor[] {
  const groups = new Map<number, number[]>();
  const step = Math.max(1, Math.floor(shown.length / ENOUGH));
  for (let k = 0; k < shown.length; k += step) {
    const code = names.codes[shown[k]];
    const group = groups.get(code);
    if (group) group.push(shown[k]);
    else groups.set(code, [shown[k]]);
  }
  const least = some ? (LEAST_SHARE * shown.length) / step : 1;
  const size = (code: number): number => groups.get(code)?.length ?? 0;
  const named = names.listed.filter((code) => size(code) >= least).sort((a, b) => size(b) - size(a));
  const anchors: Anchor[] = [];
  for (const code of named) {
    const group = groups.get(code)!;
    const dims = Math.min(stride, 3);
    const values = new Float32Array(group.length);
    const middle = Array.from({ length: dims }, (_, d) => {
      for (let k = 0; k < group.length; k++) values[k] = positions[group[k] * stride + d];
      return median(values);
    });
    let [best, least] = [group[0], Infinity];
    for (const i of group) {
      let gap = 0;
      for (let d = 0; d < dims; d++) gap += (positions[i * stride + d] - middle[d]) ** 2;
      if (gap < least) [best, least] = [i, gap];
    }
    anchors.push({ text: names.texts[code], point: best });
  }
  return anchors;
}

function median(values: Float32Array): number {
  return values.sort()[values.length >> 1];
}

export function fontOf(ratio: number, bold = true): string {
  return `${bold ? 600 : 400} ${12 * ratio}px system-ui, sans-serif`;
}

/** A name as at most two lines: a long one is broken after its first comma. */
function linesOf(name: string): string[] {
  const comma = name.length > MOST_LETTERS ? name.indexOf(", ") : -1;
  const lines = comma < 0 ? [name] : [name.slice(0, comma + 1), name.slice(comma + 2)];
  return lines.map((text) => (text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}…` : text));
}

/** Where names can be written without covering each other. */
export function placeNames(
  { anchors, place, ratio, width, height }: Overlay,
  measure: (text: string) => number,
): { text: string; x: number; y: number }[] {
  const placed: { text: string; x: number; y: number; half: number }[] = [];
  const line = 15 * ratio;
  for (const { text: whole, point } of anchors) {
    const at = place(point);
    if (!at || at[0] < 0 || at[1] < 0 || at[0] > width || at[1] > height) continue;
    const lines = linesOf(whole);
    const reach = ((lines.length - 1) * line) / 2; // from the middle to the first and the last line
    const middle = Math.min(Math.max(at[1], reach + 10 * ratio), height - reach - 10 * ratio);
    const written = lines.map((text, k) => {
      const half = measure(text) / 2;
      const x = Math.min(Math.max(at[0], half + 4 * ratio), width - half - 4 * ratio);
      return { text, x, y: middle - reach + k * line, half };
    });
    const covers = written.some(({ x, y, half }) =>
      placed.some(
        (other) => Math.abs(other.x - x) < other.half + half + 4 * ratio && Math.abs(other.y - y) < line,
      ),
    );
    if (!covers) placed.push(...written);
  }
  return placed;
}

export const CONTOUR = 0.4; // opacity of lines of equal density

/** Visits the segments of the lines of equal density, on the picture. */
export function eachSegment({ contours, place }: Overlay, visit: (from: Place, to: Place) => void): void {
  for (let k = 0; k < contours.length; k += 4) {
    const [from, to] = [place(contours.subarray(k, k + 2)), place(contours.subarray(k + 2, k + 4))];
    if (from && to) visit(from, to);
  }
}

/** The shaft and the head of an arrow. */
function arrowOf(a: Place, b: Place, size: number): (readonly [Place, Place])[] {
  const angle = Math.atan2(b[1] - a[1], b[0] - a[0]);
  const side = (turn: number): Place => [
    b[0] - size * Math.cos(angle + turn),
    b[1] - size * Math.sin(angle + turn),
  ];
  return [
    [a, b],
    [side(0.45), b],
    [side(-0.45), b],
  ];
}

const THUMBNAIL = 30; // CSS pixels

function drawThumbnails(context: CanvasRenderingContext2D, { thumbnails, place, ratio }: Overlay): void {
  const size = THUMBNAIL * ratio;
  context.imageSmoothingEnabled = false;
  context.lineWidth = 2 * ratio;
  for (const { point, image, color } of thumbnails) {
    const at = place(point);
    if (!at) continue;
    context.drawImage(image, at[0] - size / 2, at[1] - size / 2, size, size);
    context.strokeStyle = color;
    context.strokeRect(at[0] - size / 2, at[1] - size / 2, size, size);
  }
}

export function drawOverlay(context: CanvasRenderingContext2D, overlay: Overlay): void {
  const { place, ratio, ink, paper, accent, radius } = overlay;
  context.lineJoin = "round";
  context.lineCap = "round";
  context.strokeStyle = ink;
  context.globalAlpha = CONTOUR;
  context.lineWidth = ratio;
  context.beginPath();
  eachSegment(overlay, (from, to) => {
    context.moveTo(...from);
    context.lineTo(...to);
  });
  context.stroke();
  context.globalAlpha = 1;
  drawThumbnails(context, overlay);
  const segments = overlay.lines.flatMap(([from, to]) => {
    const [a, b] = [place(from), place(to)];
    return a && b ? [[a, b] as const] : [];
  });
  const arrows = overlay.arrows.flatMap(({ from, to }) => {
    const [a, b] = [place(from), place(to)];
    return a && b ? arrowOf(a, b, 9 * ratio) : [];
  });
  for (const [color, width] of [
    [paper, 3.5],
    [accent, 1.5],
  ] as const) {
    context.strokeStyle = color;
    context.lineWidth = width * ratio;
    context.beginPath();
    for (const [a, b] of [...segments, ...arrows]) {
      context.moveTo(...a);
      context.lineTo(...b);
    }
    context.stroke();
  }
  context.font = fontOf(ratio);
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const { text, x, y } of placeNames(overlay, (text) => context.measureText(text).width)) {
    context.strokeStyle = paper;
    context.lineWidth = 4 * ratio;
    context.strokeText(text, x, y);
    context.fillStyle = ink;
    context.fillText(text, x, y);
  }
  for (const point of overlay.ringed) {
    const at = place(point);
    if (!at) continue;
    for (const [color, width] of [
      [paper, 5],
      [ink, 2],
    ] as const) {
      context.strokeStyle = color;
      context.lineWidth = width * ratio;
      context.beginPath();
      context.arc(at[0], at[1], radius + 4 * ratio, 0, 2 * Math.PI);
      context.stroke();
    }
  }
  if (overlay.lasso.length > 1) {
    context.beginPath();
    overlay.lasso.forEach(([x, y]) => context.lineTo(x, y));
    context.closePath();
    context.globalAlpha = 0.12;
    context.fillStyle = accent;
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = accent;
    context.lineWidth = 1.5 * ratio;
    context.setLineDash([5 * ratio, 4 * ratio]);
    context.stroke();
    context.setLineDash([]);
  }
}
