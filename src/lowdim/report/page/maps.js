// The maps of the page: what is drawn, and in which colours.

const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const n = data.n;
const order = shuffled(n); // of the objects on the page: all that follows counts them so
const places = new Uint32Array(n); // of the objects of the file, in that order
order.forEach((row, i) => (places[row] = i));
const dark = matchMedia("(prefers-color-scheme: dark)");
const figures = [...document.querySelectorAll("figure.map")];
const charts = figures.map(
  (figure, i) => new Chart(figure.querySelector("canvas"), data.maps[i], order),
);

const labels = data.colors.map((label) => {
  if (!label.kinds) return { ...label, values: unpack(label.values, Uint16Array, order) };
  const codes = unpack(label.codes, label.kinds.length > 65536 ? Uint32Array : Uint16Array, order);
  return { ...label, codes, hidden: new Set() };
});
const errors = data.maps.map((map) => ({
  torn: map.torn ? unpack(map.torn, Uint8Array, order) : new Uint8Array(n).fill(UNKNOWN),
  wrong: map.false ? unpack(map.false, Uint8Array, order) : new Uint8Array(n).fill(UNKNOWN),
}));

const mostErrors = percentile(
  errors.flatMap(({ torn, wrong }) => [torn, wrong]),
  0.99,
);
const sampled = errors.some(({ torn }) => torn.includes(UNKNOWN));
const states = new Uint8Array(n).fill(SHOWN);
const selected = new Uint8Array(n);
let color = null; // what colours the points: an entry of `choices`
let hovered = -1;

/** The byte that a share of the known bytes does not exceed; at least a hundredth of the scale. */
function percentile(arrays, share) {
  const counts = new Float64Array(256);
  arrays.forEach((bytes) => bytes.forEach((byte) => counts[byte]++));
  counts[UNKNOWN] = 0;
  let [left, level] = [counts.reduce((sum, count) => sum + count, 0) * share, 0];
  while (level < UNKNOWN - 1 && (left -= counts[level]) > 0) level++;
  return Math.max(level, 3);
}

/** 0 to n - 1 in an order that is always the same, so that no kind lies on top of all others. */
function shuffled(count) {
  const list = Uint32Array.from({ length: count }, (_, i) => i);
  let seed = 1;
  for (let i = count - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((seed / 4294967296) * (i + 1));
    [list[i], list[j]] = [list[j], list[i]];
  }
  return list;
}

// --- colours ---

function theme() {
  return dark.matches && document.documentElement.dataset.theme !== "light" ? "dark" : "light";
}

function kindShade(label, code) {
  return rgb(label.shades[theme()][code]);
}

/** Values along viridis, without the end that the paper of the theme swallows. */
function valueShade(unit) {
  return viridis(theme() === "dark" ? 0.2 + 0.8 * unit : 0.92 * unit);
}

/** n colours of one label, the same on every map. */
function byLabel(label) {
  const colors = new Uint32Array(n);
  if (label.kinds) {
    const shades = label.kinds.map((_, code) => pack(kindShade(label, code)));
    label.codes.forEach((code, i) => (colors[i] = shades[code]));
  } else {
    const grey = pack(theme() === "dark" ? [90, 90, 90] : [190, 190, 190]);
    label.values.forEach((value, i) => {
      colors[i] = value === NOWHERE ? grey : pack(valueShade(value / (NOWHERE - 1)));
    });
  }
  return () => colors;
}

/** n colours of a map's own errors. */
function byErrors(useTorn, useFalse) {
  const kind = theme();
  const shades = Uint32Array.from({ length: 65536 }, (_, k) =>
    pack(errorShade((useTorn * (k >> 8)) / mostErrors, (useFalse * (k & 255)) / mostErrors, kind)),
  );
  return (map) => {
    const { torn, wrong } = errors[map];
    const colors = new Uint32Array(n);
    for (let i = 0; i < n; i++) colors[i] = shades[(torn[i] << 8) | wrong[i]];
    return colors;
  };
}

function plain() {
  const colors = new Uint32Array(n).fill(pack(theme() === "dark" ? [86, 180, 233] : [0, 114, 178]));
  return () => colors;
}

const ERRORS_OF_MAPS = "Errors of the map";
const choices = labels.map((label) => ({
  name: label.name,
  group: label.feature ? "Columns of the data" : "Labels",
  label,
  paint: () => byLabel(label),
}));
if (data.maps.some((map) => map.torn || map.false)) {
  choices.push(
    { name: "torn and false", group: ERRORS_OF_MAPS, errors: [1, 1], paint: () => byErrors(1, 1) },
    { name: "torn neighbours", group: ERRORS_OF_MAPS, errors: [1, 0], paint: () => byErrors(1, 0) },
    { name: "false neighbours", group: ERRORS_OF_MAPS, errors: [0, 1], paint: () => byErrors(0, 1) },
  );
}
choices.push({ name: "nothing", group: "", paint: plain });

/** Whether the names of kinds are written on the maps. */
function namesShown() {
  return Boolean(color.label?.kinds) && $("names").ariaPressed === "true";
}

// --- drawing ---

let looks = [];
let waiting = new Set();

/** Works out colours and states anew and draws all maps. */
function repaint() {
  const style = getComputedStyle(document.documentElement);
  const token = (name) => rgb(longHex(style.getPropertyValue(name).trim()));
  const paper = token("--panel");
  const shades = color.paint();
  const any = selected.includes(1);
  const written = namesShown() ? color.label : null;
  const sifted = labels.filter((label) => label.hidden?.size);
  for (let i = 0; i < n; i++) {
    const off = sifted.some((label) => label.hidden.has(label.codes[i]));
    states[i] = off ? HIDDEN : any && !selected[i] ? DIM : SHOWN;
  }
  looks = charts.map((_, map) => ({
    colors: shades(map),
    states: color.errors ? lookedAt(map) : states,
    paper: pack(paper),
    faint: pack(mix(paper, token("--ink"), 0.18)),
    ink: css(token("--ink")),
    halo: css(paper),
    names: written && { kinds: written.kinds, codes: written.codes, listed: written.listed },
    grow: any || (color.errors && sampled) ? 1.5 : 1, // so that few among many are seen
  }));
  charts.forEach((chart) => later(chart));
}

/** States on a map coloured by its errors: objects whose errors are not known step back. */
function lookedAt(map) {
  const { torn } = errors[map];
  return states.map((state, i) => (state === SHOWN && torn[i] === UNKNOWN ? DIM : state));
}

function longHex(hex) {
  return hex.length === 4 ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
}

/** Draws a map before the next frame, once however often it is asked for. */
function later(chart) {
  if (!waiting.size) requestAnimationFrame(drawWaiting);
  waiting.add(chart);
}

function drawWaiting() {
  const due = waiting;
  waiting = new Set();
  due.forEach((chart) => chart.draw(looks[charts.indexOf(chart)]));
}
