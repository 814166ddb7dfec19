// What the colours mean, and categories to hide and show.

import { css, SCALES, valueColor } from "../scatter";
import { $, element, mostErrors, sampled, UNKNOWN, valueText, type Kinds } from "./data";
import { errorShade, repaint, shown, strip, theme } from "./maps";

export function drawLegend(): void {
  const { label, errors } = shown.choice;
  const legend = $("legend");
  legend.replaceChildren();
  if (errors) legend.append(...errorLegend(...errors));
  else if (label?.kinds) legend.append(...kindLegend(label));
  else if (label)
    legend.append(
      valueText(label, label.scale.low),
      strip((unit) => valueColor(unit, theme())),
      valueText(label, label.scale.high),
      ...(label.scale.how === "linear"
        ? []
        : [`; ${SCALES[label.scale.how]}, middle ${valueText(label, label.scale.at(0.5))}`]),
    );
  if ($("trust").ariaPressed === "true")
    legend.append(element("span", {}, "Faint: objects whose place is doubtful."));
}

/** A button for every category that has a colour, and how many have none. */
function kindLegend(label: Kinds): HTMLElement[] {
  const missing = label.kinds.indexOf("(missing)");
  const codes = missing < 0 ? label.listed : [...label.listed, missing];
  const buttons: HTMLElement[] = codes.map((code) => kindButton(label, code));
  if (!label.grey) return buttons;
  const dot = element("i");
  dot.style.background = label.shades.find((_, k) => !label.listed.includes(k)) ?? "";
  return [...buttons, element("span", {}, dot, `${label.grey.toLocaleString("en")} smaller kinds`)];
}

function errorLegend(useTorn: number, useFalse: number): (HTMLElement | string)[] {
  const most = Number((mostErrors / (UNKNOWN - 1)).toPrecision(2));
  if (!useFalse) return ["0", strip((t) => errorShade(t, 0)), `${most}: neighbours torn far away`];
  if (!useTorn)
    return ["0", strip((t) => errorShade(0, t)), `${most}: neighbours on the map are far in the data`];
  const key = element("canvas", { width: 16, height: 16, className: "square", ariaHidden: "true" });
  const context = key.getContext("2d")!;
  for (let torn = 0; torn < 16; torn++) {
    for (let wrong = 0; wrong < 16; wrong++) {
      context.fillStyle = css(errorShade(torn / 15, wrong / 15));
      context.fillRect(torn, 15 - wrong, 1, 1);
    }
  }
  const lines = [
    `→ torn: neighbours placed far away (blue: ${most} or more of 1)`,
    `↑ false: neighbours on the map that are far in the data (orange: ${most} or more)`,
    `↗ both; grey where the map is right${sampled ? "; pale where it is not known" : ""}`,
  ];
  return [key, element("span", {}, ...lines.map((line) => element("div", {}, line)))];
}

function kindButton(label: Kinds, code: number): HTMLButtonElement {
  const dot = element("i");
  dot.style.background = label.shades[code];
  const name = element("bdi", { textContent: label.kinds[code] });
  const button = element(
    "button",
    { type: "button", ariaPressed: String(!label.hidden.has(code)) },
    dot,
    name,
  );
  button.addEventListener("click", (event) => {
    const others = label.kinds.map((_, other) => other).filter((other) => other !== code);
    if (event.shiftKey) label.hidden = new Set(label.hidden.size === others.length ? [] : others);
    else if (!label.hidden.delete(code)) label.hidden.add(code);
    const place = [...$("legend").children].indexOf(button);
    drawLegend();
    ($("legend").children[place] as HTMLElement).focus();
    repaint();
  });
  return button;
}
