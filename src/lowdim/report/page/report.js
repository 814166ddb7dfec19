// What the pointer, the keys and the tools do; then the page starts.

function listen(chart, figure) {
  const { canvas } = chart;
  const touches = new Map(); // where each pointer that is down is
  let last = null;
  let line = null;
  let moved = false;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    touches.set(event.pointerId, chart.locate(event));
    last = chart.locate(event);
    moved = touches.size > 1;
    const selects = event.shiftKey || $("lasso").ariaPressed === "true";
    line = selects && touches.size === 1 ? [last] : null;
    hover(-1);
  });
  canvas.addEventListener("pointermove", (event) => {
    const here = chart.locate(event);
    if (!touches.has(event.pointerId)) {
      if (event.pointerType !== "touch") hover(chart.look ? chart.nearest(here) : -1, event);
      return;
    }
    moved ||= Math.hypot(here[0] - last[0], here[1] - last[1]) > 4 * chart.ratio;
    if (touches.size === 2) {
      const [id] = [...touches.keys()].filter((key) => key !== event.pointerId);
      pinch(chart, touches.get(id), touches.get(event.pointerId), here);
    } else if (line) {
      line.push(here);
      chart.show(-1, line);
    } else if (moved) {
      chart.drag(here[0] - last[0], here[1] - last[1]);
      last = here;
      later(chart);
    }
    touches.set(event.pointerId, here);
  });
  const release = (event) => {
    touches.delete(event.pointerId);
    if (line) select(line.length > 2 ? chart.inside(line) : []);
    else if (!moved && event.type === "pointerup" && event.pointerType === "touch" && last)
      hover(chart.nearest(last), event); // a tap
    line = null;
    last = touches.size ? [...touches.values()][0] : null;
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") hover(-1);
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return; // the page scrolls
      event.preventDefault();
      chart.zoomBy(
        Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)),
        chart.locate(event),
      );
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
      Escape: () => (figure.classList.contains("large") ? enlarge.click() : select([])),
    };
    const action = event.ctrlKey || event.metaKey ? null : actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
    later(chart);
  });
  const enlarge = figure.querySelector(".enlarge");
  enlarge.addEventListener("click", () => {
    const large = figure.classList.toggle("large");
    enlarge.ariaPressed = String(large);
    enlarge.textContent = large ? "Close" : "Enlarge";
    document.body.style.overflow = large ? "hidden" : "";
    canvas.focus();
  });
  new ResizeObserver(() => chart.fit() && looks.length && later(chart)).observe(canvas);
}

/** Zooms and moves a map so that two fingers stay on what they touch. */
function pinch(chart, fixed, before, here) {
  const gap = (a, b) => Math.max(Math.hypot(a[0] - b[0], a[1] - b[1]), 1);
  const middle = [(fixed[0] + here[0]) / 2, (fixed[1] + here[1]) / 2];
  chart.zoomBy(gap(fixed, here) / gap(fixed, before), middle);
  if (chart.dims !== 3) chart.drag((here[0] - before[0]) / 2, (here[1] - before[1]) / 2);
  later(chart);
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

// --- start ---

const groups = new Map();
choices.forEach((choice, i) => {
  const option = element("option", { value: String(i), textContent: choice.name });
  if (!choice.group) {
    $("color").append(option);
    return;
  }
  if (!groups.has(choice.group)) {
    groups.set(choice.group, element("optgroup", { label: choice.group }));
    $("color").append(groups.get(choice.group));
  }
  groups.get(choice.group).append(option);
});
$("color").addEventListener("change", () => colorBy(Number($("color").value)));
$("names").addEventListener("click", () => {
  $("names").ariaPressed = String($("names").ariaPressed !== "true");
  repaint();
});
$("download").addEventListener("click", download);
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

function colorBy(place) {
  color = choices[place];
  $("names").hidden = !color.label?.kinds;
  drawLegend();
  repaint();
}

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
$("color").value = String(data.first);
colorBy(data.first);
