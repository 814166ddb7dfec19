// A map on a canvas. Points are stamped into the canvas's pixels one by one: for the tens of
// thousands of points of a map that takes a few milliseconds, needs no graphics card, and any
// number of maps fits on a page.

const GOLDEN = 0.6180339887498949;
const HIDDEN = 0;
const DIM = 1;
const SHOWN = 2;

class Chart {
  constructor(canvas, map, order) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.n = order.length;
    this.dims = map.dims;
    this.placed = new Uint8Array(this.n);
    this.points = this.unpack(unpack(map.points, Uint16Array, order, map.dims));
    this.x = new Float32Array(this.n); // on the canvas, in its pixels
    this.y = new Float32Array(this.n);
    this.depth = this.dims === 3 ? new Float32Array(this.n) : null;
    this.reset();
  }

  /** Three coordinates a point, the middle of the map at 0 and its longest side from -1 to 1. */
  unpack(stored) {
    const points = new Float32Array(3 * this.n);
    const top = new Float64Array(3);
    for (let i = 0; i < this.n; i++) {
      this.placed[i] = stored[i * this.dims] === NOWHERE ? 0 : 1;
      for (let d = 0; this.placed[i] && d < this.dims; d++) {
        top[d] = Math.max(top[d], stored[i * this.dims + d]);
      }
    }
    const half = Math.max(...top) / 2 || 1;
    this.half = Array.from(top, (value) => Math.max(value / 2 / half, 1e-3));
    for (let i = 0; i < this.n; i++) {
      for (let d = 0; d < this.dims; d++) {
        points[3 * i + d] = (stored[i * this.dims + d] - top[d] / 2) / half;
      }
      if (this.dims === 1) points[3 * i + 1] = 2 * ((i * GOLDEN) % 1) - 1; // only to keep apart
    }
    return points;
  }

  reset() {
    this.center = [0, 0];
    this.zoom = 1;
    this.turn = [1, 0, 0, 0, 0.94, 0.34, 0, -0.34, 0.94]; // a little from above
  }

  /** Pixels of the canvas for one unit of the map, across and up. */
  scale() {
    const { width, height } = this.canvas;
    if (this.dims === 1) return [0.47 * width * this.zoom, 0.4 * height];
    const [right, up] = this.dims === 3 ? [1.25, 1.25] : this.half;
    const unit = Math.min((0.47 * width) / right, (0.47 * height) / up) * this.zoom;
    return [unit, unit];
  }

  /** Where every point is on the canvas. */
  project() {
    const { points, turn, x, y, depth } = this;
    const [across, up] = this.scale();
    const left = this.canvas.width / 2 - this.center[0] * across;
    const top = this.canvas.height / 2 + (this.dims === 1 ? 0 : this.center[1] * up);
    for (let i = 0, j = 0; i < this.n; i++, j += 3) {
      let a = points[j];
      let b = points[j + 1];
      if (depth) {
        const c = points[j + 2];
        depth[i] = turn[6] * a + turn[7] * b + turn[8] * c;
        [a, b] = [turn[0] * a + turn[1] * b + turn[2] * c, turn[3] * a + turn[4] * b + turn[5] * c];
      }
      x[i] = left + a * across;
      y[i] = top - b * up;
    }
  }

  /** Takes the size of the canvas on the screen; true if that has changed. */
  fit() {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.round(this.canvas.clientWidth * ratio);
    const height = Math.round(this.canvas.clientHeight * ratio);
    if (
      !width ||
      !height ||
      (this.image && this.image.width === width && this.image.height === height)
    ) {
      return false;
    }
    Object.assign(this.canvas, { width, height });
    this.image = this.context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.ratio = ratio;
    return true;
  }

  radius() {
    const few = Math.min(20 / Math.pow(this.n, 0.31), 4.5);
    const size = Math.sqrt(this.canvas.clientWidth / 400);
    return Math.max(few * size * Math.min(Math.sqrt(this.zoom), 3), 0.6) * this.ratio;
  }

  /** Offsets and opacities (of 256) of the pixels that make a point. */
  stamp(radius) {
    const offsets = [];
    const cover = [];
    const reach = Math.ceil(radius);
    for (let down = -reach; down <= reach; down++) {
      for (let right = -reach; right <= reach; right++) {
        const part = Math.min(Math.max(radius + 0.5 - Math.hypot(right, down), 0), 1);
        if (part > 0.15) {
          offsets.push(down * this.canvas.width + right);
          cover.push(Math.round(225 * part));
        }
      }
    }
    return { reach, offsets: Int32Array.from(offsets), cover: Int32Array.from(cover) };
  }

  /** Draws all points; `look` says in which colours, which of them, on what. */
  draw(look) {
    if (!this.image) return;
    this.look = look;
    this.project();
    this.pixels.fill(0xff000000 | look.paper);
    this.stampAll(look, this.stamp(this.radius()), DIM);
    this.stampAll(look, this.stamp(this.radius() * look.grow), SHOWN);
    this.show();
  }

  stampAll({ colors, states, faint }, { reach, offsets, cover }, state) {
    const { pixels, x, y, depth, placed } = this;
    const { width, height } = this.canvas;
    const size = offsets.length;
    for (let i = 0; i < this.n; i++) {
      if (states[i] !== state || !placed[i]) continue;
      const column = Math.round(x[i]);
      const row = Math.round(y[i]);
      if (column < reach || row < reach || column >= width - reach || row >= height - reach)
        continue;
      const color = state === DIM ? faint : colors[i];
      const redBlue = color & 0xff00ff;
      const green = (color >> 8) & 255;
      const near = depth ? Math.min(Math.max(0.65 + 0.35 * depth[i], 0.25), 1) : 1;
      const strength = state === DIM ? near * 0.6 : near;
      const base = row * width + column;
      for (let j = 0; j < size; j++) {
        const a = (cover[j] * strength) | 0;
        const under = pixels[base + offsets[j]];
        const rest = 256 - a;
        const rb = (Math.imul(under & 0xff00ff, rest) + Math.imul(redBlue, a)) >>> 8;
        const g = Math.imul((under >> 8) & 255, rest) + Math.imul(green, a);
        pixels[base + offsets[j]] = 0xff000000 | (rb & 0xff00ff) | (g & 0xff00);
      }
    }
  }

  /** Puts the picture on the canvas: the points, a ring around one of them, a line being drawn. */
  show(ringed = -1, line = []) {
    if (!this.image) return;
    const { context, ratio } = this;
    context.putImageData(this.image, 0, 0);
    if (this.look.names) this.writeNames(this.look);
    context.strokeStyle = this.look.ink;
    context.lineWidth = 2 * ratio;
    if (ringed >= 0 && this.placed[ringed] && this.look.states[ringed] !== HIDDEN) {
      context.beginPath();
      context.arc(this.x[ringed], this.y[ringed], this.radius() + 4 * ratio, 0, 2 * Math.PI);
      context.stroke();
    }
    if (line.length > 1) {
      context.setLineDash([4 * ratio, 4 * ratio]);
      context.beginPath();
      line.forEach(([x, y]) => context.lineTo(x, y));
      context.closePath();
      context.stroke();
      context.setLineDash([]);
    }
  }

  /** The name of each kind at the median of its points that are shown, unless two would overlap. */
  writeNames({ names, states, ink, halo }) {
    const { context, ratio } = this;
    const across = names.kinds.map(() => []);
    const up = names.kinds.map(() => []);
    for (let i = 0; i < this.n; i++) {
      if (states[i] !== SHOWN || !this.placed[i]) continue;
      across[names.codes[i]].push(this.x[i]);
      up[names.codes[i]].push(this.y[i]);
    }
    context.font = `600 ${12 * ratio}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    const taken = [];
    for (const code of names.listed) {
      if (!across[code].length) continue;
      let x = middle(across[code]);
      let y = middle(up[code]);
      if (spread(up[code]) < 20 * ratio) y -= 14 * ratio; // above a small group, not on it
      const name = names.kinds[code].slice(0, 24);
      const half = context.measureText(name).width / 2;
      x = Math.min(Math.max(x, half + 4 * ratio), this.canvas.width - half - 4 * ratio);
      y = Math.min(Math.max(y, 9 * ratio), this.canvas.height - 9 * ratio);
      const near = ([a, b, w]) =>
        Math.abs(a - x) < w + half + 2 * ratio && Math.abs(b - y) < 14 * ratio;
      if (taken.some(near)) continue;
      taken.push([x, y, half]);
      context.strokeStyle = halo;
      context.lineWidth = 4 * ratio;
      context.strokeText(name, x, y);
      context.fillStyle = ink;
      context.fillText(name, x, y);
    }
  }

  /** Where a pointer is, in the canvas's pixels. */
  locate(event) {
    const box = this.canvas.getBoundingClientRect();
    const edge = this.canvas.clientLeft;
    return [
      (event.clientX - box.left - edge) * this.ratio,
      (event.clientY - box.top - edge) * this.ratio,
    ];
  }

  /** The point that is drawn nearest to a place, or -1 if none is close. */
  nearest([x, y]) {
    const { states } = this.look;
    let found = -1;
    let least = (this.radius() + 6 * this.ratio) ** 2;
    for (let i = 0; i < this.n; i++) {
      const gap = (this.x[i] - x) ** 2 + (this.y[i] - y) ** 2;
      if (gap < least && this.placed[i] && states[i] !== HIDDEN) [found, least] = [i, gap];
    }
    return found;
  }

  /** The points inside a closed line. */
  inside(line) {
    const { states } = this.look;
    const within = [];
    for (let i = 0; i < this.n; i++) {
      if (this.placed[i] && states[i] !== HIDDEN && encloses(line, this.x[i], this.y[i]))
        within.push(i);
    }
    return within;
  }

  /** Moves the view by pixels, or turns it. */
  drag(right, down) {
    if (this.dims === 3) {
      this.rotate(right / (150 * this.ratio), down / (150 * this.ratio));
      return;
    }
    const [across, up] = this.scale();
    this.center[0] -= right / across;
    this.center[1] += down / up;
  }

  rotate(right, down) {
    const [ca, sa, cb, sb] = [Math.cos(right), Math.sin(right), Math.cos(down), Math.sin(down)];
    const by = [ca, 0, sa, sb * sa, cb, -sb * ca, -cb * sa, sb, cb * ca];
    const old = this.turn;
    this.turn = by.map((_, k) => {
      const row = k - (k % 3);
      return by[row] * old[k % 3] + by[row + 1] * old[(k % 3) + 3] + by[row + 2] * old[(k % 3) + 6];
    });
  }

  /** Zooms in or out, leaving what is at a place there. */
  zoomBy(factor, [x, y] = [this.canvas.width / 2, this.canvas.height / 2]) {
    const before = this.scale();
    this.zoom = Math.min(Math.max(this.zoom * factor, 0.5), 500);
    const after = this.scale();
    const [right, down] = [x - this.canvas.width / 2, y - this.canvas.height / 2];
    this.center[0] += right / before[0] - right / after[0];
    this.center[1] -= down / before[1] - down / after[1];
  }
}

/** Whether a point lies inside a closed line: it crosses the line an odd number of times. */
function encloses(line, x, y) {
  let within = false;
  for (let i = 0, j = line.length - 1; i < line.length; j = i++) {
    const [[ax, ay], [bx, by]] = [line[i], line[j]];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) within = !within;
  }
  return within;
}

function middle(values) {
  return Float64Array.from(values).sort()[values.length >> 1];
}

/** The height of the middle four fifths of the values. */
function spread(values) {
  const sorted = Float64Array.from(values).sort();
  const tenth = Math.floor(sorted.length / 10);
  return sorted[sorted.length - 1 - tenth] - sorted[tenth];
}
