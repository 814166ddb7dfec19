// The page: what is drawn, in which colours, and what the pointer and the keys do to it.

const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const n = data.n;
const order = shuffled(n); // of the objects on the page: all that follows counts them so
const dark = matchMedia("(prefers-color-scheme: dark)");
const figures = [...document.querySelectorAll("figure.map")];
const charts = figures.map((figure, i) => new Chart(figure.querySelector("canvas"), data.maps[i], order));

const labels = data.colors.map((label) => {
  if (!label.kinds) return { ...label, values: unpack(label.values, Uint16Array, order) };
  const codes = unpack(label.codes, label.kinds.length > 65536 ? Uint32Array : Uint16Array, order);
  return { ...label, codes, hidden: new Set() };
});
const errors = data.maps.map((map) => ({
  torn: map.torn ? unpack(map.torn, Uint8Array, order) : new Uint8Array(n).fill(UNKNOWN),
  wrong: map.false ? unpack(map.false, Uint8Array, order) : new Uint8Array(n).fill(UNKNOWN),
}));

const mostErrors = percentile(errors.flatMap(({ torn, wrong }) => [torn, wrong]), 0.99);
const sampled = errors.some(({ torn }) => torn.includes(UNKNOWN));
const states = new Uint8Array(n).fill(SHOWN);
const selected = new Uint8Array(n);
let color = null; // what colours the points: an entry of `choices`
let hovered = -1;

/** The byte that a share of all known bytes does not exceed, and at least a hundredth of the scale. */
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

// --- colours ---------------------------------------------------------------------------------

function theme() {
  return dark.matches && document.documentElement.dataset.theme !== "light" ? "dark" : "light";
}

function kindShade(label, code) {
  if (label.kinds[code] === "(missing)") return theme() === "dark" ? [90, 90, 90] : [190, 190, 190];
  if (!label.shades) return viridis(code / Math.max(label.kinds.length - 1, 1));
  const shade = label.shades[code];
  return shade === "#000000" && theme() === "dark" ? [255, 255, 255] : rgb(shade);
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
      colors[i] = value === NOWHERE ? grey : pack(viridis(value / (NOWHERE - 1)));
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

const choices = labels
  .filter((label) => !label.kinds || label.legend)
  .map((label) => ({ name: label.name, label, paint: () => byLabel(label) }));
if (data.maps.some((map) => map.torn || map.false)) {
  choices.push(
    { name: "torn and false neighbours", errors: [1, 1], paint: () => byErrors(1, 1) },
    { name: "torn neighbours", errors: [1, 0], paint: () => byErrors(1, 0) },
    { name: "false neighbours", errors: [0, 1], paint: () => byErrors(0, 1) },
  );
}
choices.push({ name: "nothing", paint: plain });

// --- drawing ------------------------------------------------------------------------------------

let looks = [];
let waiting = new Set();

/** Works out colours and states anew and draws all maps. */
function repaint() {
  const style = getComputedStyle(document.documentElement);
  const token = (name) => rgb(longHex(style.getPropertyValue(name).trim()));
  const paper = token("--panel");
  const shades = color.paint();
  const any = selected.includes(1);
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
    grow: any || (color.errors && sampled) ? 2 : 1, // so that few among many are seen
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

// --- legend -------------------------------------------------------------------------------------

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function drawLegend() {
  const legend = $("legend");
  legend.replaceChildren();
  if (color.errors) legend.append(...errorLegend(...color.errors));
  else if (color.label?.kinds) legend.append(...color.label.kinds.map((_, code) => kindButton(color.label, code)));
  else if (color.label) legend.append(number(color.label.low), bar(viridis), number(color.label.high));
}

function number(value) {
  return Number(value.toPrecision(4)).toString();
}

/** A strip of colours. */
function bar(shade) {
  const strip = element("canvas", { width: 64, height: 1, ariaHidden: "true" });
  const context = strip.getContext("2d");
  for (let x = 0; x < 64; x++) {
    context.fillStyle = css(shade(x / 63));
    context.fillRect(x, 0, 1, 1);
  }
  return strip;
}

function errorLegend(useTorn, useFalse) {
  const most = Number((mostErrors / (UNKNOWN - 1)).toPrecision(2));
  if (!useFalse) return ["0", bar((t) => errorShade(t, 0, theme())), `${most}: neighbours torn far away`];
  if (!useTorn) return ["0", bar((t) => errorShade(0, t, theme())), `${most}: neighbours on the map are far in the data`];
  const key = element("canvas", { width: 16, height: 16, className: "square", ariaHidden: "true" });
  const context = key.getContext("2d");
  for (let torn = 0; torn < 16; torn++) {
    for (let wrong = 0; wrong < 16; wrong++) {
      context.fillStyle = css(errorShade(torn / 15, wrong / 15, theme()));
      context.fillRect(torn, 15 - wrong, 1, 1);
    }
  }
  const lines = [
    `→ torn: neighbours placed far away (blue: ${most} or more of 1)`,
    `↑ false: neighbours on the map that are none (orange: ${most} or more)`,
    `↗ both; grey where the map is right${sampled ? "; pale where nobody looked" : ""}`,
  ];
  return [key, element("span", {}, ...lines.map((line) => element("div", {}, line)))];
}

function kindButton(label, code) {
  const dot = element("i");
  dot.style.background = css(kindShade(label, code));
  const name = element("bdi", { textContent: label.kinds[code] });
  const button = element("button", { type: "button", ariaPressed: String(!label.hidden.has(code)) }, dot, name);
  button.addEventListener("click", (event) => {
    const others = label.kinds.map((_, other) => other).filter((other) => other !== code);
    if (event.shiftKey) label.hidden = new Set(label.hidden.size === others.length ? [] : others);
    else if (!label.hidden.delete(code)) label.hidden.add(code);
    drawLegend();
    $("legend").children[code].focus();
    repaint();
  });
  return button;
}

// --- selection ------------------------------------------------------------------------------------

function identify(i) {
  return data.ids ? data.ids[order[i]] : String(order[i]);
}

function describe(label, i) {
  if (label.kinds) return label.kinds[label.codes[i]];
  const value = label.values[i];
  return value === NOWHERE ? "missing" : number(label.low + ((label.high - label.low) * value) / (NOWHERE - 1));
}

function select(rows) {
  selected.fill(0);
  rows.forEach((i) => (selected[i] = 1));
  $("selection").hidden = rows.length === 0;
  $("count").textContent = `${rows.length.toLocaleString("en")} of ${n.toLocaleString("en")} selected.${tally(rows)}`;
  $("chosen").value = rows.slice().sort((a, b) => order[a] - order[b]).map(identify).join("\n");
  repaint();
}

/** How many of which kind, the most frequent first. */
function tally(rows) {
  if (!color.label?.kinds) return "";
  const counts = new Map();
  rows.forEach((i) => counts.set(color.label.codes[i], (counts.get(color.label.codes[i]) ?? 0) + 1));
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  const told = sorted.slice(0, 8).map(([code, count]) => `${color.label.kinds[code]}: ${count}`);
  return ` ${told.join(", ")}${sorted.length > 8 ? ", …" : ""}`;
}

function find(query) {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return [];
  const hits = labels.map((label) => label.kinds?.map((kind) => kind.toLowerCase().includes(wanted)));
  const matches = (i) =>
    identify(i).toLowerCase().includes(wanted) || hits.some((hit, k) => hit?.[labels[k].codes[i]]);
  return Array.from({ length: n }, (_, i) => i).filter(matches);
}

// --- the object under the pointer -----------------------------------------------------------------

function hover(i, event) {
  const tip = $("tip");
  tip.hidden = i < 0;
  if (i >= 0) {
    if (i !== hovered) tip.replaceChildren(...details(i));
    const right = event.clientX + 14 + tip.offsetWidth > innerWidth;
    const low = event.clientY + 14 + tip.offsetHeight > innerHeight;
    const x = right ? event.clientX - 14 - tip.offsetWidth : event.clientX + 14;
    const y = low ? event.clientY - 14 - tip.offsetHeight : event.clientY + 14;
    tip.style.transform = `translate(${x}px, ${y}px)`;
  }
  if (i === hovered) return;
  hovered = i;
  charts.forEach((chart) => waiting.has(chart) || chart.show(i));
}

function details(i) {
  const lines = [element("strong", { textContent: identify(i) })];
  for (const label of labels) {
    lines.push(element("div", {}, `${label.name}: `, element("bdi", { textContent: describe(label, i) })));
  }
  if (data.images) lines.push(thumbnail(i));
  return lines;
}

function thumbnail(i) {
  const { width, height, columns, sheet } = data.images;
  const grow = Math.max(1, Math.round(96 / Math.max(width, height)));
  const picture = element("i");
  const [x, y] = [(order[i] % columns) * width, Math.floor(order[i] / columns) * height];
  Object.assign(picture.style, {
    width: `${width}px`,
    height: `${height}px`,
    background: `url(data:image/png;base64,${sheet}) -${x}px -${y}px`,
    transform: `scale(${grow})`,
    marginRight: `${width * (grow - 1)}px`,
    marginBottom: `${height * (grow - 1)}px`,
  });
  return picture;
}

// --- pointer and keys ------------------------------------------------------------------------------

function listen(chart, figure) {
  const { canvas } = chart;
  let last = null;
  let line = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    last = chart.locate(event);
    line = event.shiftKey || $("lasso").ariaPressed === "true" ? [last] : null;
    hover(-1);
  });
  canvas.addEventListener("pointermove", (event) => {
    const here = chart.locate(event);
    if (!last) {
      hover(chart.look ? chart.nearest(here) : -1, event);
    } else if (line) {
      line.push(here);
      chart.show(-1, line);
    } else {
      chart.drag(here[0] - last[0], here[1] - last[1]);
      last = here;
      later(chart);
    }
  });
  const release = () => {
    if (line) select(line.length > 2 ? chart.inside(line) : []);
    last = line = null;
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => hover(-1));
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return; // the page scrolls
      event.preventDefault();
      chart.zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), chart.locate(event));
      later(chart);
    },
    { passive: false },
  );
  canvas.addEventListener("dblclick", () => resetViews([chart]));
  canvas.addEventListener("keydown", (event) => {
    const step = 30 * chart.ratio;
    const actions = {
      ArrowLeft: () => chart.drag(step, 0),
      ArrowRight: () => chart.drag(-step, 0),
      ArrowUp: () => chart.drag(0, step),
      ArrowDown: () => chart.drag(0, -step),
      "+": () => chart.zoomBy(1.25),
      "=": () => chart.zoomBy(1.25),
      "-": () => chart.zoomBy(0.8),
      0: () => chart.reset(),
      Escape: () => select([]),
    };
    const action = event.ctrlKey || event.metaKey ? null : actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
    later(chart);
  });
  const enlarge = figure.querySelector(".enlarge");
  enlarge.addEventListener("click", () => {
    enlarge.ariaPressed = String(figure.classList.toggle("large"));
  });
  new ResizeObserver(() => chart.fit() && looks.length && later(chart)).observe(canvas);
}

function resetViews(which) {
  which.forEach((chart) => {
    chart.reset();
    later(chart);
  });
}

function drags(mode) {
  $("move").ariaPressed = String(mode === "move");
  $("lasso").ariaPressed = String(mode === "lasso");
  $("maps").classList.toggle("selecting", mode === "lasso");
}

// --- start ------------------------------------------------------------------------------------------

choices.forEach((choice, i) => $("color").append(element("option", { value: String(i), textContent: choice.name })));
color = choices[0];
$("color").addEventListener("change", () => {
  color = choices[Number($("color").value)];
  drawLegend();
  repaint();
});
$("move").addEventListener("click", () => drags("move"));
$("lasso").addEventListener("click", () => drags("lasso"));
$("reset").addEventListener("click", () => resetViews(charts));
$("clear").addEventListener("click", () => select([]));
$("find").addEventListener("input", () => select(find($("find").value)));
dark.addEventListener("change", () => {
  drawLegend();
  repaint();
});
addEventListener("beforeprint", () => inTheme("light"));
addEventListener("afterprint", () => inTheme(""));

/** Draws at once in a theme, or in the reader's own. */
function inTheme(name) {
  document.documentElement.dataset.theme = name;
  drawLegend();
  repaint();
  drawWaiting();
}

figures.forEach((figure, i) => {
  figure.classList.toggle("flat", charts[i].dims === 1);
  charts[i].fit();
  listen(charts[i], figure);
});
$("tools").hidden = $("help").hidden = false;
drawLegend();
repaint();
