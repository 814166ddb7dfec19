// What the pointer, the keys and the tools do; then the page starts.

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

// --- start ---

choices.forEach((choice, i) =>
  $("color").append(element("option", { value: String(i), textContent: choice.name })),
);
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
