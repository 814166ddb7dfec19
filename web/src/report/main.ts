// The report: its maps, its tools, and what they do.

import { makeSlider, Scatter, type Mode } from "../scatter";
import { $, element, first, labels, maps } from "./data";
import { drawLegend } from "./legend";
import { choices, facets, onTheme, repaint, shown, views } from "./maps";
import { download, find, hover, select } from "./objects";

const figures = [...document.querySelectorAll<HTMLElement>("figure.map")];

figures.forEach((figure, place) => {
  const host = figure.querySelector<HTMLElement>(".plot")!;
  const map = maps[place];
  figure.classList.toggle("flat", map.dims === 1);
  const enlarge = figure.querySelector<HTMLButtonElement>(".enlarge")!;
  const view = new Scatter(host, {
    label: host.ariaLabel ?? "",
    events: {
      hover,
      click: (point, event) => {
        if (event instanceof PointerEvent && event.pointerType === "touch") hover(point, event);
      },
      select,
      escape: () => (figure.classList.contains("large") ? enlarge.click() : select([])),
    },
  });
  view.setPositions(map.positions, map.dims);
  views.push(view);
  enlarge.addEventListener("click", () => {
    const large = figure.classList.toggle("large");
    enlarge.ariaPressed = String(large);
    enlarge.textContent = large ? "Close" : "Enlarge";
    document.body.style.overflow = large ? "hidden" : "";
    view.focus();
  });
});

const groups = new Map<string, HTMLElement>();
choices.forEach(({ name, group }, place) => {
  const option = element("option", { value: String(place), textContent: name });
  if (!group) return $("color").append(option);
  if (!groups.has(group)) {
    groups.set(group, element("optgroup", { label: group }));
    $("color").append(groups.get(group)!);
  }
  return groups.get(group)!.append(option);
});

function colorBy(place: number): void {
  shown.choice = choices[place];
  $("names").hidden = !shown.choice.label?.kinds;
  drawLegend();
  repaint();
}

function drags(mode: Mode): void {
  $("move").ariaPressed = String(mode === "move");
  $("lasso").ariaPressed = String(mode === "lasso");
  figures.forEach((figure) => (figure.querySelector<HTMLElement>(".plot")!.dataset.mode = mode));
  views.forEach((view) => (view.mode = mode));
}

/** Draws at once in a theme, or in the reader's own. */
function inTheme(name: string): void {
  document.documentElement.dataset.theme = name;
  drawLegend();
  repaint();
  views.forEach((view) => view.drawNow());
}

/** The first figure shows one map after another, and the others are hidden. */
const slider = makeSlider(
  maps.map(({ name }) => name),
  (place) => {
    views[0].setPositions(maps[place].positions, maps[place].dims, 600);
    shown.first = place;
    views[0].setRegions($("regions").ariaPressed === "true" ? maps[place].regions : null);
    figures[0].querySelector("h3")!.textContent = maps[place].name;
    figures[0].querySelector("figcaption")!.textContent = captions[place] ?? "";
    repaint();
  },
);
const captions = figures.map((figure) => figure.querySelector("figcaption")!.textContent);

function oneMap(on: boolean): void {
  $("one").ariaPressed = String(on);
  slider.hidden = !on;
  figures.slice(1).forEach((figure) => (figure.hidden = on));
  document.querySelector(".maps")!.classList.toggle("single", on);
  const input = slider.querySelector("input")!;
  input.value = "0";
  input.dispatchEvent(new Event("input"));
}

const on = (id: string, name: string, act: () => void): void => $(id).addEventListener(name, act);
on("color", "change", () => colorBy(Number($<HTMLSelectElement>("color").value)));
for (const id of ["names", "trust"]) {
  on(id, "click", () => {
    $(id).ariaPressed = String($(id).ariaPressed !== "true");
    drawLegend();
    repaint();
  });
}
on("regions", "click", () => {
  const on = $("regions").ariaPressed !== "true";
  $("regions").ariaPressed = String(on);
  views.forEach((view, place) => view.setRegions(on ? maps[place].regions : null));
});
on("filter", "click", () => {
  facets.element.hidden = !facets.element.hidden;
  $("filter").ariaPressed = String(!facets.element.hidden);
});
on("download", "click", download);
on("move", "click", () => drags("move"));
on("lasso", "click", () => drags("lasso"));
on("reset", "click", () => views.forEach((view) => view.reset()));
on("clear", "click", () => select([]));
on("find", "input", () => select(find($<HTMLInputElement>("find").value)));
onTheme(() => {
  drawLegend();
  repaint();
});
addEventListener("beforeprint", () => inTheme("light"));
addEventListener("afterprint", () => inTheme(""));

slider.hidden = true;
$("tools").after(slider, facets.element);
$("one").hidden = maps.length < 2;
$("regions").hidden = !maps.some(({ regions }) => regions);
$("trust").hidden = !maps.some(({ doubts }) => doubts);
$("filter").hidden = !labels.length;
on("one", "click", () => oneMap($("one").ariaPressed !== "true"));
$("tools").hidden = $("help").hidden = false;
$<HTMLSelectElement>("color").value = String(first);
colorBy(first);
