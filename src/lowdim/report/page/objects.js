// Single objects: those that are selected, and the one under the pointer.

function identify(i) {
  return data.ids ? data.ids[order[i]] : String(order[i]);
}

function describe(label, i) {
  if (label.kinds) return label.kinds[label.codes[i]];
  const value = label.values[i];
  return value === NOWHERE
    ? "missing"
    : number(label.low + ((label.high - label.low) * value) / (NOWHERE - 1));
}

function select(rows) {
  selected.fill(0);
  rows.forEach((i) => (selected[i] = 1));
  $("selection").hidden = rows.length === 0;
  $("count").textContent =
    `${rows.length.toLocaleString("en")} of ${n.toLocaleString("en")} selected.${tally(rows)}`;
  $("difference").replaceChildren(...differences(rows));
  $("chosen").value = rows
    .slice()
    .sort((a, b) => order[a] - order[b])
    .map(identify)
    .join("\n");
  repaint();
}

const MOST_DIFFERENCES = 6; // columns listed for a selection

/** The columns in which the selected objects differ most from the others. */
function differences(rows) {
  if (!rows.length || rows.length === n) return [];
  const found = labels
    .map((label) => (label.kinds ? kindDifference(label, rows) : valueDifference(label, rows)))
    .filter((one) => one && Math.abs(one.size) >= 0.5)
    .sort((a, b) => Math.abs(b.size) - Math.abs(a.size))
    .slice(0, MOST_DIFFERENCES);
  if (!found.length) return [];
  const cell = (name, text) => element(name, {}, element("bdi", { textContent: text }));
  const head = element("tr", {}, cell("th", "differs in"), cell("th", "here"), cell("th", "rest"));
  const lines = found.map((one) =>
    element("tr", {}, cell("th", one.name), cell("td", one.here), cell("td", one.rest)),
  );
  return [element("table", {}, element("thead", {}, head), element("tbody", {}, ...lines))];
}

/** Means of a column, and their difference in standard deviations. */
function valueDifference(label, rows) {
  const sums = [0, 0];
  const counts = [0, 0];
  let squares = 0;
  for (let i = 0; i < n; i++) {
    if (label.values[i] === NOWHERE) continue;
    const value = label.values[i] / (NOWHERE - 1);
    sums[selected[i]] += value;
    counts[selected[i]]++;
    squares += value * value;
  }
  if (!counts[0] || !counts[1]) return null;
  const mean = (sums[0] + sums[1]) / (counts[0] + counts[1]);
  const spread = Math.sqrt(Math.max(squares / (counts[0] + counts[1]) - mean * mean, 1e-12));
  const [rest, here] = sums.map((sum, k) => sum / counts[k]);
  const value = (unit) => number(Number((label.low + (label.high - label.low) * unit).toPrecision(3)));
  return { name: label.name, here: value(here), rest: value(rest), size: (here - rest) / spread };
}

/** The kind whose share differs most. */
function kindDifference(label, rows) {
  const counts = [new Float64Array(label.kinds.length), new Float64Array(label.kinds.length)];
  for (let i = 0; i < n; i++) counts[selected[i]][label.codes[i]]++;
  const shares = counts.map((kinds, k) => kinds.map((c) => c / (k ? rows.length : n - rows.length)));
  let best = 0;
  const gap = (code) => Math.abs(shares[1][code] - shares[0][code]);
  label.kinds.forEach((_, code) => gap(code) > gap(best) && (best = code));
  const [rest, here] = shares.map((kinds) => `${Math.round(100 * kinds[best])} %`);
  return { name: `${label.name}: ${label.kinds[best]}`, here, rest, size: 3 * gap(best) };
}

/** The selected objects with all their columns, as a file. */
function download() {
  const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = [["id", ...labels.map((label) => label.name)].map(quoted).join(",")];
  for (let k = 0; k < n; k++) {
    const i = places[k];
    if (selected[i])
      lines.push(
        [identify(i), ...labels.map((label) => exactly(label, i))].map(quoted).join(","),
      );
  }
  const url = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
  const link = element("a", { href: url, download: "selection.csv" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function exactly(label, i) {
  if (label.kinds) return label.kinds[label.codes[i]];
  const value = label.values[i];
  if (value === NOWHERE) return "";
  return String(Number((label.low + ((label.high - label.low) * value) / (NOWHERE - 1)).toPrecision(5)));
}

/** How many of which kind, the most frequent first. */
function tally(rows) {
  if (!color.label?.kinds) return "";
  const counts = new Map();
  rows.forEach((i) =>
    counts.set(color.label.codes[i], (counts.get(color.label.codes[i]) ?? 0) + 1),
  );
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  const parts = sorted.slice(0, 8).map(([code, count]) => `${color.label.kinds[code]}: ${count}`);
  return ` ${parts.join(", ")}${sorted.length > 8 ? ", …" : ""}`;
}

function find(query) {
  const wanted = query.trim().toLowerCase();
  if (!wanted) return [];
  const hits = labels.map((label) =>
    label.kinds?.map((kind) => kind.toLowerCase().includes(wanted)),
  );
  const matches = (i) =>
    identify(i).toLowerCase().includes(wanted) || hits.some((hit, k) => hit?.[labels[k].codes[i]]);
  return Array.from({ length: n }, (_, i) => i).filter(matches);
}

// --- the object under the pointer ---

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

const MOST_SHOWN = 12; // columns under the pointer

function details(i) {
  const lines = [element("strong", { textContent: identify(i) })];
  const first = labels.filter((label) => label === color.label);
  const shown = [...first, ...labels.filter((label) => label !== color.label)];
  for (const label of shown.slice(0, MOST_SHOWN)) {
    lines.push(
      element("div", {}, `${label.name}: `, element("bdi", { textContent: describe(label, i) })),
    );
  }
  if (shown.length > MOST_SHOWN)
    lines.push(element("div", {}, `and ${shown.length - MOST_SHOWN} more columns`));
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
