// The scatter view: a map of points that can be moved, zoomed, turned, hovered over and selected from.

import { boundingBox, Camera, UNIT_BOX, type Projection } from "./camera";
import { css, hex, mix, pack, plain, rgb } from "./color";
import { listen, type Mode } from "./gestures";
import type { Key } from "./key";
import { anchorsOf, drawOverlay } from "./overlay";
import type { Anchor, Arrow, Line, Names, Overlay, Place, Thumbnail } from "./overlay";
import { contoursOf } from "./contours";
import { Pace } from "./pace";
import { painterOf } from "./painters";
import * as picture from "./picture";
import { nearestPoint, placer, pointsInside, pointsSeen } from "./places";
import { regionsAtZoom, type Region } from "./regions";
import { DIM, emptyScene, halfway, HIDDEN, orderOf, placedOf, shuffled, spreadOut } from "./scene";
import type { Painter, Scene } from "./scene";

export interface Events {
  hover?(point: number, event: MouseEvent): void;
  click?(point: number, event: MouseEvent): void;
  select?(points: Uint32Array): void;
  decode?(y: number[]): void;
  /** A path was drawn over the map in the mode "decode"; empty after a click. */
  path?(places: number[][]): void;
  /** A point was dragged to a place in the mode "pin", or clicked. */
  carry?(point: number, to: number[] | null): void;
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

/** The image of a point, or null as long as it is not there. */
export type ThumbnailOf = (point: number) => CanvasImageSource | null;

const NO_LINES = new Float32Array(0);
const MOST_THUMBNAILS = 150; // points on the screen that are shown as images
const REACH = 6; // CSS pixels around a point at which it is pointed at

export class Scatter {
  readonly camera = new Camera();
  painter: Painter;
  readonly #withoutWebgl: boolean;
  readonly wheelAlways: boolean;
  mode: Mode = "move";
  n = 0;
  dim = 2;
  readonly #base = document.createElement("canvas");
  readonly #upper = document.createElement("canvas");
  readonly #events: Events;
  readonly #scene: Scene;
  readonly #observer: ResizeObserver;
  readonly #stopListening: () => void;
  #shuffle: Uint32Array = new Uint32Array(0);
  #states: Uint8Array | null = null;
  #placed: Uint8Array | null = null;
  #names: Names | null = null;
  #anchors: readonly Anchor[] | null = null;
  #contours: Float32Array | null = null;
  #showsContours = false;
  #regions: readonly Region[] | null = null;
  #ringed: readonly number[] = [];
  #lines: readonly Line[] = [];
  #arrows: readonly Arrow[] = [];
  #thumbnailOf: ThumbnailOf | null = null;
  #lasso: readonly Place[] = [];
  #colorsGiven = false;
  #inks = { ink: "#000", paper: "#fff", accent: "#06c" };
  #ratio = 1;
  #frame = 0;
  #dirty = false; // the points must be drawn, not only what is above them
  readonly #pace = new Pace();
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
    this.#scene = emptyScene(this.camera.projection());
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
    this.#pace.stop();
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
    this.#scene.before = same && milliseconds > 0 ? halfway(this.#scene) : positions;
    this.#scene.positions = positions;
    this.#scene.stride = stride;
    this.#scene.versions.positions++;
    this.#animation = same && milliseconds > 0 ? { start: performance.now(), duration: milliseconds } : null;
    this.#scene.part = this.#animation ? 0 : 1;
    const placed = placedOf(positions, stride);
    const moved = !same || placed !== null || this.#placed !== null; // the order may be another one
    this.#placed = placed;
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
    } else if (moved) this.#reorder();
    if (!this.camera.touched || !same) this.camera.box = n ? boundingBox(positions, stride) : UNIT_BOX;
    this.#anchors = this.#contours = null;
    this.redraw();
  }

  /** Packed colours of the points; null for one colour. */
  setColors(colors: Uint32Array | null): void {
    this.#colorsGiven = colors !== null;
    this.#scene.colors = colors ?? plain(this.n);
    this.#scene.versions.colors++;
    this.redraw();
  }

  /** HIDDEN, DIM or SHOWN for each point; null shows all. */
  setStates(states: Uint8Array | null): void {
    if (states ? states.length !== this.n : !this.#states) return;
    this.#states = states;
    this.#scene.grow = states?.includes(DIM) ? 1.35 : 1;
    this.#reorder();
    this.#anchors = this.#contours = null;
    this.redraw();
  }

  #reorder(): void {
    const scene = this.#scene;
    Object.assign(scene, orderOf(this.#shuffle, this.#states, this.#placed));
    scene.versions.order++;
    const shown = scene.order.length - scene.nDim;
    const said = `${shown.toLocaleString("en")} of ${this.n.toLocaleString("en")} points shown`;
    this.#upper.setAttribute("aria-description", said);
  }

  setNames(names: Names | null): void {
    this.#names = names;
    this.#anchors = this.#contours = null;
    this.redraw(false);
  }

  /** Named regions, whose names replace those of categories. */
  setRegions(regions: readonly Region[] | null): void {
    this.#regions = regions;
    this.redraw(false);
  }

  /** Shows lines of equal density, on maps of two dimensions. */
  showContours(on: boolean): void {
    this.#showsContours = on;
    this.redraw(false);
  }

  /** Points with a ring around them. */
  setRinged(points: readonly number[]): void {
    if (points.length === this.#ringed.length && points.every((point, k) => point === this.#ringed[k]))
      return;
    this.#ringed = points;
    this.redraw(false);
  }

  setLines(lines: readonly Line[]): void {
    this.#lines = lines;
    this.redraw(false);
  }

  /** Named arrows, in coordinates of the map. */
  setArrows(arrows: readonly Arrow[]): void {
    this.#arrows = arrows;
    this.redraw(false);
  }

  /** Shows images in place of points wherever few of them are on the screen. */
  setThumbnails(imageOf: ThumbnailOf | null): void {
    this.#thumbnailOf = imageOf;
    this.redraw(false);
  }

  setInks(inks: { ink: string; paper: string; accent: string }): void {
    const [paper, ink] = [rgb(inks.paper), rgb(inks.ink)];
    this.#inks = { ink: css(ink), paper: css(paper), accent: inks.accent };
    this.#scene.paper = pack(paper);
    this.#scene.faint = pack(mix(paper, ink, 0.22));
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
    const moves = this.#pace.moving || this.#animation !== null;
    const most = moves ? this.#pace.budget : Infinity;
    this.painter.paint(scene, this.#base.getContext("2d")!, most);
    this.#pace.drew(Math.min(scene.order.length, most), moves);
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
      this.#anchors = anchorsOf(
        this.#names,
        scene.order.subarray(scene.nDim),
        scene.positions,
        scene.stride,
        scene.nDim > 0,
      );
    const projection = this.camera.projection();
    const place = placer(scene, projection, width, height);
    const pixels = (Math.hypot(...projection.slice(0, 3)) * width) / 2; // of a unit of the map
    const flat = this.dim === 2 && !this.#animation;
    if (this.#showsContours && flat) this.#contours ??= contoursOf(scene);
    const arrows = flat ? this.#arrows : [];
    const named = this.#regions
      ? regionsAtZoom(this.#regions, pixels, Math.min(width, height), ratio)
      : ((this.#names && this.#anchors) ?? []);
    return {
      anchors: [...arrows.map(({ from, to, text }) => ({ text, point: beyond(from, to) })), ...named],
      place: (i) =>
        typeof i === "number" && (i >= this.n || this.#states?.[i] === HIDDEN) ? null : place(i),
      contours: (this.#showsContours && flat && this.#contours) || NO_LINES,
      ringed: this.#ringed,
      lines: this.#lines,
      arrows,
      thumbnails: this.#thumbnails(projection),
      lasso: this.#lasso.map(([x, y]) => [x * width, y * height]),
      ...this.#inks,
      ratio,
      radius: this.#radius(ratio),
      width,
      height,
    };
  }

  /** Images of the points on the screen, if they are few. */
  #thumbnails(projection: Projection): Thumbnail[] {
    if (!this.#thumbnailOf || this.#animation) return [];
    const seen = pointsSeen(this.#scene, projection, MOST_THUMBNAILS);
    return (seen ?? []).flatMap((point) => {
      const image = this.#thumbnailOf!(point);
      return image ? [{ point, image, color: hex(this.#scene.colors[point]) }] : [];
    });
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
    this.#pace.moved(() => this.#pace.budget < this.#scene.order.length && this.redraw());
    this.redraw();
    this.#events.moved?.();
  }

  /** Shows all of the map again if a point is outside of what is seen. */
  reveal(point: number): void {
    if (point < 0 || point >= this.n) return;
    const { width, height } = this.#scene;
    const [x, y] = placer(this.#scene, this.camera.projection(), width, height)(point);
    if (x < 0 || y < 0 || x > width || y > height) this.reset();
  }

  // --- pointing ---

  /** The point drawn nearest to a place, given in shares of the canvas; -1 if none is close. */
  nearest(x: number, y: number, pixels = this.#radius(this.#ratio) + REACH * this.#ratio): number {
    return nearestPoint(this.#scene, this.camera.projection(), [x, y], pixels);
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
    if (!this.#events.decode || this.dim < 2 || this.dim > 3) return;
    const { positions, stride } = this.#scene;
    const near = this.dim === 3 ? this.nearest(x, y, Infinity) : -1; // its depth is taken
    const through = near < 0 ? undefined : positions.subarray(near * stride);
    this.#events.decode(this.camera.locate(x, y, through));
  }

  /** Reports the places of a path, given in shares of the canvas. */
  decodeAlong(path: readonly Place[]): void {
    if (this.dim === 2) this.#events.path?.(path.map(([x, y]) => this.camera.locate(x, y)));
  }

  /** The point at a place, if points can be dragged; else -1. */
  pointToCarry(x: number, y: number): number {
    return this.#events.carry && this.dim === 2 ? this.nearest(x, y) : -1;
  }

  /** Reports that a point is dragged to a place, or, without a place, that it was clicked. */
  carry(point: number, x?: number, y?: number): void {
    this.#events.carry?.(point, x === undefined || y === undefined ? null : this.camera.locate(x, y));
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
    return pointsInside(this.#scene, this.camera.projection(), line);
  }

  // --- pictures ---

  /** The picture on its paper, enlarged, with a key to its colours; without rings and lasso. */
  png(key: Key | null, enlarge = 2): Promise<Blob> {
    const { scene, overlay } = this.#still(enlarge);
    return picture.png(this.painter, scene, overlay, key, enlarge);
  }

  svg(key: Key | null): string {
    const { scene, overlay } = this.#still(1);
    return picture.svg(scene, overlay, key);
  }

  /** What a picture shows whose CSS pixels have some number of pixels. */
  #still(scale: number): { scene: Scene; overlay: Overlay } {
    const width = Math.round(this.#upper.clientWidth * scale);
    const height = Math.round(this.#upper.clientHeight * scale);
    const [projection, size] = [this.camera.projection(), 2 * this.#radius(scale)];
    return {
      scene: { ...this.#scene, width, height, projection, size },
      overlay: { ...this.#overlay(width, height, scale), ringed: [], lasso: [] },
    };
  }
}

const BEYOND = 1.08; // where the name of an arrow is, in units of its length

const beyond = (from: readonly number[], to: readonly number[]): number[] =>
  from.map((start, d) => start + BEYOND * (to[d] - start));
