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
  $("chosen").value = rows
    .slice()
    .sort((a, b) => order[a] - order[b])
    .map(identify)
    .join("\n");
  repaint();
}

/** How many of which kind, the most frequent first. */
function tally(rows) {
  if (!color.label?.kinds) return "";
  const counts = new Map();
  rows.forEach((i) =>
    counts.set(color.label.codes[i], (counts.get(color.label.codes[i]) ?? 0) + 1),
  );
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  const told = sorted.slice(0, 8).map(([code, count]) => `${color.label.kinds[code]}: ${count}`);
  return ` ${told.join(", ")}${sorted.length > 8 ? ", …" : ""}`;
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

function details(i) {
  const lines = [element("strong", { textContent: identify(i) })];
  for (const label of labels) {
    lines.push(
      element("div", {}, `${label.name}: `, element("bdi", { textContent: describe(label, i) })),
    );
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
