// The scatter view: a map of points that can be moved, zoomed, turned, hovered over and selected from.

import { boundingBox, Camera, UNIT_BOX } from "./camera";
import { css, mix, pack, plain, rgb, type Theme } from "./color";
import { listen, type Mode } from "./gestures";
import { anchorsOf, drawOverlay, type Anchor, type Names, type Overlay, type Place } from "./overlay";
import { DIM, HIDDEN, SHOWN, shuffled, type Painter, type Scene } from "./scene";
import { stampPainter } from "./stamp";
import { svgOf } from "./svg";
import { webglPainter } from "./webgl";

export { DIM, HIDDEN, SHOWN } from "./scene";
export type { Mode } from "./gestures";
export type { Names } from "./overlay";

export interface Events {
  hover?(point: number, event: MouseEvent): void;
  click?(point: number, event: MouseEvent): void;
  select?(points: Uint32Array): void;
  decode?(y: [number, number]): void;
  escape?(): void;
  /** The view was moved, zoomed or turned. */
  moved?(): void;
}

export interface Options {
  label: string;
  events: Events;
  /** Whether the wheel zooms at once, or only when the view has the focus. */
  wheelAlways?: boolean;
  /** Draw by the processor even where WebGL2 is there. */
  withoutWebgl?: boolean;
}

const GOLDEN = 0.6180339887498949;
const SLOW = 50; // milliseconds between pictures; above it fewer points are drawn while the view moves
const FAST = 20;
const IDLE = 500; // milliseconds; a longer pause says nothing about the speed of drawing
const LEAST = 50_000; // points that are always drawn
const SETTLED = 160; // milliseconds after the last move until all points are drawn again

const MANY = 100_000; // points, from which stamping is faster than a graphics card in software

let webgl: Painter | null | undefined;
let stamps: Painter | undefined;

/** The painter that is fastest for some number of points. */
function painterOf(n: number, withoutWebgl: boolean): Painter {
  if (webgl === undefined) webgl = webglPainter();
  if (!withoutWebgl && webgl && !(webgl.slow && n > MANY)) return webgl;
  return (stamps ??= stampPainter());
}

export class Scatter {
  readonly camera = new Camera();
  painter: Painter;
  readonly #withoutWebgl: boolean;
  readonly wheelAlways: boolean;
  mode: Mode = "move";
  n = 0;
  dim = 2;
  /** Pictures drawn so far, and the points of the last one. */
  drawn = 0;
  pointsDrawn = 0;
  readonly #base = document.createElement("canvas");
  readonly #upper = document.createElement("canvas");
  readonly #events: Events;
  readonly #scene: Scene;
  readonly #observer: ResizeObserver;
  readonly #stopListening: () => void;
  #shuffle: Uint32Array = new Uint32Array(0);
  #states: Uint8Array | null = null;
  #names: Names | null = null;
  #anchors: readonly Anchor[] | null = null;
  #ringed: readonly number[] = [];
  #lines: readonly (readonly [number, number])[] = [];
  #lasso: readonly Place[] = [];
  #colorsGiven = false;
  #theme: Theme = "light";
  #inks = { ink: "#000", paper: "#fff", accent: "#06c" };
  #ratio = 1;
  #frame = 0;
  #dirty = false; // the points must be drawn, not only what is above them
  #settle = 0;
  #budget = Infinity; // points that are drawn while the view moves
  #moving = false;
  #lastDrawn = 0;
  #animation: { start: number; duration: number } | null = null;

  constructor(host: HTMLElement, options: Options) {
    this.#events = options.events;
    this.wheelAlways = options.wheelAlways ?? false;
    this.#withoutWebgl = options.withoutWebgl ?? false;
    this.painter = painterOf(0, this.#withoutWebgl);
    host.classList.add("scatter");
    this.#base.ariaHidden = "true";
    this.#upper.tabIndex = 0;
    this.#upper.setAttribute("role", "application");
    host.append(this.#base, this.#upper);
    this.label = options.label;
    const none = new Float32Array(0);
    this.#scene = {
      positions: none,
      before: none,
      stride: 2,
      part: 1,
      colors: new Uint32Array(0),
      order: new Uint32Array(0),
      nDim: 0,
      projection: this.camera.projection(),
      width: 0,
      height: 0,
      size: 4,
      opacity: 0.9,
      grow: 1,
      paper: 0,
      faint: 0,
      versions: { positions: 0, colors: 0, order: 0 },
    };
    this.#stopListening = listen(this, this.#upper);
    this.#observer = new ResizeObserver(() => this.#fit() && this.drawNow());
    this.#observer.observe(this.#upper);
    this.#fit();
  }

  set label(text: string) {
    this.#upper.setAttribute("aria-label", text);
  }

  destroy(): void {
    this.#observer.disconnect();
    this.#stopListening();
    this.painter.forget(this.#scene);
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#settle);
    this.#base.remove();
    this.#upper.remove();
  }

  focus(): void {
    this.#upper.focus();
  }

  // --- what is shown ---

  /** Takes the coordinates, `dim` numbers per point, moving there in some milliseconds. */
  setPositions(given: Float32Array, dim: number, milliseconds = 0): void {
    const n = dim ? given.length / dim : 0;
    const positions = dim === 1 ? spreadOut(given) : given;
    const stride = Math.max(dim, 2);
    const same = n === this.n && stride === this.#scene.stride;
    this.#scene.before = same && milliseconds > 0 ? this.#halfway() : positions;
    this.#scene.positions = positions;
    this.#scene.stride = stride;
    this.#scene.versions.positions++;
    this.#animation = same && milliseconds > 0 ? { start: performance.now(), duration: milliseconds } : null;
    this.#scene.part = this.#animation ? 0 : 1;
    this.camera.spatial = dim >= 3;
    this.camera.flat = dim === 1;
    this.dim = dim;
    if (n !== this.n) {
      this.n = n;
      this.painter.forget(this.#scene);
      this.painter = painterOf(n, this.#withoutWebgl);
      this.#shuffle = shuffled(n);
      this.#states = null;
      this.#ringed = [];
      this.#lines = [];
      this.#reorder();
      if (!this.#colorsGiven || this.#scene.colors.length !== n) this.setColors(null);
    } else if (!same || !this.#states) this.#reorder();
    if (!this.camera.touched || !same) this.camera.box = n ? boundingBox(positions, stride) : UNIT_BOX;
    this.#anchors = null;
    this.redraw();
  }

  /** Where the points are in the middle of a move. */
  #halfway(): Float32Array {
    const { before, positions, part } = this.#scene;
    if (part >= 1) return positions;
    return positions.map((value, i) => before[i] + (value - before[i]) * part);
  }

  /** Packed colours of the points; null for one colour. */
  setColors(colors: Uint32Array | null): void {
    this.#colorsGiven = colors !== null;
    this.#scene.colors = colors ?? plain(this.n, this.#theme);
    this.#scene.versions.colors++;
    this.redraw();
  }

  /** HIDDEN, DIM or SHOWN for each point; null shows all. */
  setStates(states: Uint8Array | null): void {
    if (states ? states.length !== this.n : !this.#states) return;
    this.#states = states;
    this.#scene.grow = states?.includes(DIM) ? 1.35 : 1;
    this.#reorder();
    this.#anchors = null;
    this.redraw();
  }

  #reorder(): void {
    const states = this.#states;
    const shuffle = this.#shuffle;
    const { positions, stride } = this.#scene;
    let [order, end, nDim] = [shuffle, this.n, 0];
    if (states || positions.some(Number.isNaN)) {
      order = new Uint32Array(this.n);
      end = 0;
      for (const state of [DIM, SHOWN]) {
        if (state === SHOWN) nDim = end;
        for (let k = 0; k < shuffle.length; k++) {
          const i = shuffle[k];
          const placed = positions[i * stride] + positions[i * stride + 1];
          if ((states ? states[i] : SHOWN) === state && placed === placed) order[end++] = i; // not NaN
        }
      }
    }
    this.#scene.nDim = nDim;
    this.#scene.order = order.subarray(0, end);
    this.#scene.versions.order++;
    const said = `${(end - this.#scene.nDim).toLocaleString("en")} of ${this.n.toLocaleString("en")} points shown`;
    this.#upper.setAttribute("aria-description", said);
  }

  setNames(names: Names | null): void {
    this.#names = names;
    this.#anchors = null;
    this.redraw(false);
  }

  /** Points with a ring around them. */
  setRinged(points: readonly number[]): void {
    if (points.length === this.#ringed.length && points.every((point, k) => point === this.#ringed[k]))
      return;
    this.#ringed = points;
    this.redraw(false);
  }

  setLines(lines: readonly (readonly [number, number])[]): void {
    this.#lines = lines;
    this.redraw(false);
  }

  setTheme(theme: Theme, inks: { ink: string; paper: string; accent: string }): void {
    this.#theme = theme;
    const [paper, ink] = [rgb(inks.paper), rgb(inks.ink)];
    this.#inks = { ink: css(ink), paper: css(paper), accent: inks.accent };
    this.#scene.paper = pack(paper);
    this.#scene.faint = pack(mix(paper, ink, 0.22));
    if (!this.#colorsGiven) this.setColors(null);
    this.redraw();
  }

  // --- drawing ---

  /** Takes the size of the canvas on the screen; true if it has changed. */
  #fit(): boolean {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(this.#upper.clientWidth * ratio);
    const height = Math.round(this.#upper.clientHeight * ratio);
    if (!width || !height || (this.#scene.width === width && this.#scene.height === height)) return false;
    Object.assign(this.#base, { width, height });
    Object.assign(this.#upper, { width, height });
    Object.assign(this.#scene, { width, height });
    Object.assign(this.camera, { width, height });
    this.#ratio = ratio;
    return true;
  }

  /** Draws before the next frame, however often it is asked for. */
  redraw(points = true): void {
    this.#dirty ||= points;
    if (!this.#frame) this.#frame = requestAnimationFrame(() => this.drawNow(this.#dirty));
  }

  drawNow(points = true): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    if (!this.#scene.width && !this.#fit()) return;
    if (this.#animation) {
      const part = (performance.now() - this.#animation.start) / this.#animation.duration;
      this.#scene.part = Math.min(Math.max(part, 0), 1);
      if (part >= 1) this.#animation = null;
      points = true;
    }
    if (points) this.#drawPoints();
    const context = this.#upper.getContext("2d")!;
    context.clearRect(0, 0, this.#upper.width, this.#upper.height);
    drawOverlay(context, this.#overlay(this.#scene.width, this.#scene.height, this.#ratio));
    this.#dirty = false;
    if (this.#animation) this.redraw();
  }

  #drawPoints(): void {
    const scene = this.#scene;
    scene.projection = this.camera.projection();
    scene.size = 2 * this.#radius(this.#ratio);
    scene.opacity = this.camera.spatial
      ? 1
      : Math.min(Math.max(1.3 - 0.13 * Math.log10(Math.max(this.n, 1)), 0.45), 0.95);
    const most = this.#moving || this.#animation ? this.#budget : Infinity;
    this.painter.paint(scene, this.#base.getContext("2d")!, most);
    this.drawn++;
    this.pointsDrawn = Math.min(scene.order.length, most);
    this.#adapt();
  }

  /** Draws fewer points while the view moves if pictures come slowly, and more if they come fast. */
  #adapt(): void {
    const now = performance.now();
    const since = now - this.#lastDrawn;
    this.#lastDrawn = now;
    if (!(this.#moving || this.#animation) || since > IDLE) return;
    if (since > SLOW) this.#budget = Math.max(LEAST, (this.pointsDrawn * SLOW * 0.7) / since);
    else if (since < FAST) this.#budget *= 1.3;
  }

  /** Radius of a point in pixels: smaller for many points, larger when zoomed in. */
  #radius(ratio: number): number {
    const few = Math.min(20 / Math.pow(Math.max(this.n, 1), 0.31), 4.5);
    const size = Math.sqrt(Math.min(this.#upper.clientWidth, 1000) / 400 || 1);
    return Math.max(few * size * Math.min(Math.sqrt(this.camera.zoom), 3), 0.6) * ratio;
  }

  #overlay(width: number, height: number, ratio: number): Overlay {
    const scene = this.#scene;
    if (this.#names && !this.#anchors)
      this.#anchors = anchorsOf(this.#names, scene.order.subarray(scene.nDim), scene.positions, scene.stride);
    const place = this.#placer(width, height);
    return {
      anchors: this.#names ? (this.#anchors ?? []) : [],
      place: (i) => (i >= this.n || (this.#states && this.#states[i] === HIDDEN) ? null : place(i)),
      ringed: this.#ringed,
      lines: this.#lines,
      lasso: this.#lasso.map(([x, y]) => [x * width, y * height]),
      ...this.#inks,
      ratio,
      radius: this.#radius(ratio),
      width,
      height,
    };
  }

  /** Where points are on a picture of some size. */
  #placer(width: number, height: number): (i: number) => [number, number] {
    const m = this.camera.projection();
    const { positions, before, part, stride } = this.#scene;
    const spatial = this.camera.spatial;
    const at = (k: number): number =>
      part < 1 ? before[k] + (positions[k] - before[k]) * part : positions[k];
    return (i) => {
      const j = i * stride;
      const [a, b, c] = [at(j), at(j + 1), spatial ? at(j + 2) : 0];
      return [
        ((m[0] * a + m[1] * b + m[2] * c + m[3] + 1) * width) / 2,
        ((1 - m[4] * a - m[5] * b - m[6] * c - m[7]) * height) / 2,
      ];
    };
  }

  // --- moving ---

  drag(right: number, down: number, slide = false): void {
    this.camera.drag(right, down, slide);
    this.#wasMoved();
  }

  zoomBy(factor: number, x = 0.5, y = 0.5): void {
    this.camera.zoomBy(factor, x, y);
    this.#wasMoved();
  }

  reset(): void {
    this.camera.reset();
    if (this.n) this.camera.box = boundingBox(this.#scene.positions, this.#scene.stride);
    this.#wasMoved();
  }

  #wasMoved(): void {
    this.#moving = true;
    clearTimeout(this.#settle);
    this.#settle = window.setTimeout(() => {
      this.#moving = false;
      if (this.#budget < this.#scene.order.length) this.redraw();
    }, SETTLED);
    this.redraw();
    this.#events.moved?.();
  }

  // --- pointing ---

  /** The point drawn nearest to a place, given in shares of the canvas; -1 if none is close. */
  nearest(x: number, y: number): number {
    const { width, height } = this.#scene;
    const [px, py] = [x * width, y * height];
    let found = -1;
    let least = (this.#radius(this.#ratio) + 6 * this.#ratio) ** 2;
    this.#eachPlace(width, height, (i, x, y) => {
      const gap = (x - px) * (x - px) + (y - py) * (y - py);
      if (gap < least) [found, least] = [i, gap];
    });
    return found;
  }

  /** Visits all points that are drawn, with their places on a picture of some size. */
  #eachPlace(width: number, height: number, visit: (i: number, x: number, y: number) => void): void {
    const { order, positions, stride } = this.#scene;
    const [ax, bx, cx, dx, ay, by, cy, dy] = this.camera.projection();
    const spatial = this.camera.spatial;
    for (let k = 0; k < order.length; k++) {
      const j = order[k] * stride;
      const [a, b, c] = [positions[j], positions[j + 1], spatial ? positions[j + 2] : 0];
      visit(
        order[k],
        ((ax * a + bx * b + cx * c + dx + 1) * width) / 2,
        ((1 - ay * a - by * b - cy * c - dy) * height) / 2,
      );
    }
  }

  hoverAt(x: number, y: number, event: MouseEvent): void {
    if (this.#events.hover && this.mode !== "decode") this.#events.hover(this.nearest(x, y), event);
    else if (this.mode === "decode") this.decodeAt(x, y);
  }

  hover(point: number, event: MouseEvent): void {
    this.#events.hover?.(point, event);
  }

  clickAt(x: number, y: number, event: MouseEvent): void {
    this.#events.click?.(this.nearest(x, y), event);
  }

  decodeAt(x: number, y: number): void {
    if (this.dim === 2) this.#events.decode?.(this.camera.locate(x, y));
  }

  escape(): void {
    this.#events.escape?.();
  }

  drawLasso(line: readonly Place[]): void {
    this.#lasso = line;
    this.redraw(false);
  }

  /** Reports the points inside a closed line, given in shares of the canvas. */
  selectInside(line: readonly Place[]): void {
    this.#events.select?.(line.length > 2 ? this.inside(line) : new Uint32Array(0));
  }

  inside(line: readonly Place[]): Uint32Array {
    const [width, height] = [Math.min(this.#scene.width, 2048), Math.min(this.#scene.height, 2048)];
    const canvas = Object.assign(document.createElement("canvas"), { width, height });
    const context = canvas.getContext("2d", { willReadFrequently: true })!;
    context.beginPath();
    line.forEach(([x, y]) => context.lineTo(x * width, y * height));
    context.fill("evenodd");
    const mask = context.getImageData(0, 0, width, height).data;
    const within: number[] = [];
    this.#eachPlace(width, height, (i, x, y) => {
      if (x < 0 || y < 0 || x >= width || y >= height) return;
      if (mask[4 * (Math.floor(y) * width + Math.floor(x)) + 3] > 127) within.push(i);
    });
    return Uint32Array.from(within).sort();
  }

  // --- pictures ---

  /** The picture on its paper, enlarged; without rings and lasso. */
  async png(enlarge = 2): Promise<Blob> {
    const width = Math.round(this.#upper.clientWidth * enlarge);
    const height = Math.round(this.#upper.clientHeight * enlarge);
    const points = Object.assign(document.createElement("canvas"), { width, height });
    const scene = {
      ...this.#scene,
      width,
      height,
      projection: this.camera.projection(),
      size: 2 * this.#radius(enlarge),
    };
    this.painter.paint(scene, points.getContext("2d")!, Infinity);
    this.painter.forget(scene);
    const whole = Object.assign(document.createElement("canvas"), { width, height });
    const context = whole.getContext("2d")!;
    context.fillStyle = this.#inks.paper;
    context.fillRect(0, 0, width, height);
    context.drawImage(points, 0, 0);
    drawOverlay(context, { ...this.#overlay(width, height, enlarge), ringed: [], lasso: [] });
    return new Promise((resolve, reject) =>
      whole.toBlob(
        (blob) => (blob ? resolve(blob) : reject(new Error("The browser made no picture."))),
        "image/png",
      ),
    );
  }

  svg(): string {
    const [width, height] = [this.#upper.clientWidth, this.#upper.clientHeight];
    const scene = { ...this.#scene, width, height, size: 2 * this.#radius(1) };
    return svgOf(scene, { ...this.#overlay(width, height, 1), ringed: [], lasso: [] });
  }
}

/** One coordinate and a second that only keeps points apart. */
function spreadOut(line: Float32Array): Float32Array {
  const points = new Float32Array(2 * line.length);
  for (let i = 0; i < line.length; i++) {
    points[2 * i] = line[i];
    points[2 * i + 1] = 2 * ((i * GOLDEN) % 1) - 1;
  }
  return points;
}
