// What the colours mean, and kinds to hide and show.

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function drawLegend() {
  const legend = $("legend");
  legend.replaceChildren();
  if (color.errors) legend.append(...errorLegend(...color.errors));
  else if (color.label?.kinds) legend.append(...kindLegend(color.label));
  else if (color.label)
    legend.append(number(color.label.low), bar(valueShade), number(color.label.high));
}

/** A number with four digits, as people write it. */
function number(value) {
  const size = Math.abs(value);
  if (size >= 1e7 || (size > 0 && size < 1e-4)) return value.toExponential(2);
  return value.toLocaleString("en", { maximumSignificantDigits: size < 1e4 ? 4 : 7 });
}

/** A button for every kind that has a colour, and how many have none. */
function kindLegend(label) {
  const missing = label.kinds.indexOf("(missing)");
  const codes = missing < 0 ? label.listed : [...label.listed, missing];
  const buttons = codes.map((code) => kindButton(label, code));
  if (!label.grey) return buttons;
  const dot = element("i");
  dot.style.background = css(rgb(label.shades[theme()].find((_, k) => !label.listed.includes(k))));
  return [...buttons, element("span", {}, dot, `${label.grey.toLocaleString("en")} smaller kinds`)];
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
  if (!useFalse)
    return ["0", bar((t) => errorShade(t, 0, theme())), `${most}: neighbours torn far away`];
  if (!useTorn)
    return [
      "0",
      bar((t) => errorShade(0, t, theme())),
      `${most}: neighbours on the map are far in the data`,
    ];
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
    `↑ false: neighbours on the map that are far in the data (orange: ${most} or more)`,
    `↗ both; grey where the map is right${sampled ? "; pale where it is not known" : ""}`,
  ];
  return [key, element("span", {}, ...lines.map((line) => element("div", {}, line)))];
}

function kindButton(label, code) {
  const dot = element("i");
  dot.style.background = css(kindShade(label, code));
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
    $("legend").children[place].focus();
    repaint();
  });
  return button;
}
