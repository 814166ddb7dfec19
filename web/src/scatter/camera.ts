// The affine map from coordinates to the screen, in two and in three dimensions.

/** Rows of a 3 x 4 matrix: right, up and towards the reader, each from -1 to 1 on the canvas. */
export type Projection = readonly number[];

export interface Box {
  readonly center: readonly [number, number, number];
  readonly half: readonly [number, number, number];
}

/** A unit box around everything, if there is nothing else. */
export const UNIT_BOX: Box = { center: [0, 0, 0], half: [1, 1, 1] };

/** The box around finite coordinates. */
export function boundingBox(positions: Float32Array, dim: number): Box {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  const used = Math.min(dim, 3);
  for (let d = 0; d < used; d++) {
    let [a, b] = [Infinity, -Infinity];
    for (let i = d; i < positions.length; i += dim) {
      const value = positions[i];
      if (value < a && value > -Infinity) a = value;
      if (value > b && value < Infinity) b = value;
    }
    [low[d], high[d]] = [a, b];
  }
  const side = (d: number): [number, number] =>
    high[d] >= low[d] ? [(low[d] + high[d]) / 2, (high[d] - low[d]) / 2] : [0, 0];
  const sides = [side(0), side(1), side(2)];
  const longest = Math.max(...sides.map(([, half]) => half)) || 1;
  const half = sides.map(([, half]) => Math.max(half, longest * 1e-3));
  return {
    center: [sides[0][0], sides[1][0], sides[2][0]],
    half: [half[0], half[1], half[2]],
  };
}

const FROM_ABOVE = [1, 0, 0, 0, 0.94, 0.34, 0, -0.34, 0.94]; // the first view of three dimensions
const FROM_FRONT = [1, 0, 0, 0, 1, 0, 0, 0, 1];
const MARGIN = 0.92; // share of the canvas that the box fills
const SPHERE = 0.8; // share of the radius around a box of three dimensions: its corners are mostly empty
const MOST_ZOOM = 1000;

export class Camera {
  box: Box = UNIT_BOX;
  width = 1; // of the canvas; any unit
  height = 1;
  zoom = 1;
  spatial = false; // three dimensions
  flat = false; // one dimension: the other axis only keeps points apart
  touched = false; // the reader has moved it: it no longer follows the box
  #shift: [number, number] = [0, 0]; // in the units of the screen, -1 to 1
  #turn = FROM_ABOVE;

  reset(): void {
    this.#shift = [0, 0];
    this.zoom = 1;
    this.#turn = FROM_ABOVE;
    this.touched = false;
  }

  /** Units of the screen per unit of the coordinates, across and up. */
  #scale(): [number, number] {
    const { half } = this.box;
    if (this.flat) return [(MARGIN / half[0]) * this.zoom, 0.8];
    const radius = Math.hypot(...half);
    const [right, up] = this.spatial ? [SPHERE * radius, SPHERE * radius] : half;
    const across = this.width * Math.min(MARGIN / right, (MARGIN * this.height) / this.width / up);
    return [(across / this.width) * this.zoom, (across / this.height) * this.zoom];
  }

  projection(): Projection {
    const [sx, sy] = this.#scale();
    const [x, y, z] = this.box.center;
    const [dx, dy] = this.#shift;
    if (!this.spatial) return [sx, 0, 0, dx - sx * x, 0, sy, 0, dy - sy * y, 0, 0, 0, 0];
    const t = this.#turn;
    const depth = 1 / Math.hypot(...this.box.half);
    const row = (k: number, by: number, add: number): number[] => [
      by * t[k],
      by * t[k + 1],
      by * t[k + 2],
      add - by * (t[k] * x + t[k + 1] * y + t[k + 2] * z),
    ];
    return [...row(0, sx, dx), ...row(3, sy, dy), ...row(6, depth, 0)];
  }

  /** Moves the view, or turns it, by a share of the canvas. */
  drag(right: number, down: number, slide = false): void {
    this.touched = true;
    if (this.spatial && !slide) {
      const unit = Math.min(this.width, this.height);
      this.#rotate((3 * right * this.width) / unit, (3 * down * this.height) / unit);
      return;
    }
    this.#shift[0] += 2 * right;
    if (!this.flat) this.#shift[1] -= 2 * down;
  }

  #rotate(right: number, down: number): void {
    const [ca, sa, cb, sb] = [Math.cos(right), Math.sin(right), Math.cos(down), Math.sin(down)];
    const by = [ca, 0, sa, sb * sa, cb, -sb * ca, -cb * sa, sb, cb * ca];
    const old = this.#turn;
    this.#turn = by.map((_, k) => {
      const row = k - (k % 3);
      return by[row] * old[k % 3] + by[row + 1] * old[(k % 3) + 3] + by[row + 2] * old[(k % 3) + 6];
    });
  }

  /** Zooms, and leaves in place what is at (x, y), in shares of the canvas from its upper left. */
  zoomBy(factor: number, x = 0.5, y = 0.5): void {
    this.touched = true;
    const zoom = Math.min(Math.max(this.zoom * factor, 0.3), MOST_ZOOM);
    const real = zoom / this.zoom;
    this.zoom = zoom;
    const [right, up] = [2 * x - 1, 1 - 2 * y];
    this.#shift[0] = right + (this.#shift[0] - right) * real;
    if (!this.flat) this.#shift[1] = up + (this.#shift[1] - up) * real;
  }

  /**
   * The coordinates at a place, given in shares of the canvas. In three dimensions those on the plane
   * through a point that is parallel to the screen.
   */
  locate(x: number, y: number, through: ArrayLike<number> = this.box.center): number[] {
    const m = this.projection();
    const [sx, sy] = this.#scale();
    const t = this.spatial ? this.#turn : FROM_FRONT;
    const [a, b, c] = [through[0], through[1], this.spatial ? through[2] : 0];
    const right = (2 * x - 1 - (m[0] * a + m[1] * b + m[2] * c + m[3])) / sx;
    const up = (1 - 2 * y - (m[4] * a + m[5] * b + m[6] * c + m[7])) / sy;
    return [a, b, c].slice(0, this.spatial ? 3 : 2).map((at, d) => at + t[d] * right + t[3 + d] * up);
  }
}
