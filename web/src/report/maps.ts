// The maps of the page: what is drawn, and in which colours.

import {
  byCategory,
  byValue,
  css,
  DIM,
  fade,
  HIDDEN,
  makeFacets,
  mix,
  pack,
  plain,
  rgb,
  Scatter,
  SHOWN,
  type Rgb,
  type Theme,
} from "../scatter";
import { $, hasErrors, labels, maps, mostErrors, n, sampled, UNKNOWN, valueText, type Label } from "./data";

const dark = matchMedia("(prefers-color-scheme: dark)");
export const selected = new Uint8Array(n);
export const views: Scatter[] = [];

export function theme(): Theme {
  return dark.matches && document.documentElement.dataset.theme !== "light" ? "dark" : "light";
}

export function onTheme(act: () => void): void {
  dark.addEventListener("change", act);
}

// Neither, false, torn, both: blue against orange, and a grey that recedes on paper of either kind.
const ERRORS = {
  light: ["#d9d9d9", "#e69f00", "#0072b2", "#1a1a1a"].map(rgb),
  dark: ["#4a4f55", "#ffb31a", "#4db5f5", "#ffffff"].map(rgb),
};

/** The colour of errors, torn and false, each from 0 to 1 and shown as 1 beyond. */
export function errorShade(torn: number, wrong: number): Rgb {
  const [neither, falseOnes, tornOnes, both] = ERRORS[theme()];
  const [t, w] = [Math.min(torn, 1), Math.min(wrong, 1)];
  return mix(mix(neither, falseOnes, w), mix(tornOnes, both, w), t);
}

export interface Choice {
  name: string;
  group: string;
  label: Label | null;
  errors: [number, number] | null;
}

const errorChoice = (name: string, torn: number, wrong: number): Choice => ({
  name,
  group: "Errors of the map",
  label: null,
  errors: [torn, wrong],
});

export const choices: Choice[] = [
  ...labels.map((label): Choice => ({
    name: label.name,
    group: label.feature ? "Columns of the data" : "Labels",
    label,
    errors: null,
  })),
  ...(hasErrors
    ? [
        errorChoice("torn and false", 1, 1),
        errorChoice("torn neighbours", 1, 0),
        errorChoice("false neighbours", 0, 1),
      ]
    : []),
  { name: "nothing", group: "", label: null, errors: null },
];
/** What is shown: the colours, and the map in the first figure. */
export const shown = { choice: choices[0], first: 0 };

export const facets = makeFacets(
  labels.map((label) =>
    label.kinds ? label : { ...label, show: (value: number) => valueText(label, value, 4) },
  ),
  n,
  () => repaint(),
);
facets.element.hidden = true;

/** The colours of all points on each map. */
function paint({ label, errors }: Choice): (map: number) => Uint32Array {
  if (errors) return byErrors(...errors);
  const colors = label ? byLabel(label) : plain(n);
  return () => colors;
}

function byLabel(label: Label): Uint32Array {
  return label.kinds ? byCategory(label.codes, label.shades) : byValue(label.values, label.scale, theme());
}

function byErrors(useTorn: number, useFalse: number): (map: number) => Uint32Array {
  const shades = Uint32Array.from({ length: 65536 }, (_, k) =>
    pack(errorShade((useTorn * (k >> 8)) / mostErrors, (useFalse * (k & 255)) / mostErrors)),
  );
  return (map) => Uint32Array.from(maps[map].torn, (torn, i) => shades[(torn << 8) | maps[map].wrong[i]]);
}

/** Works out colours and states anew, for all maps. */
export function repaint(): void {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string): string => style.getPropertyValue(name).trim();
  const { label, errors } = shown.choice;
  const colors = paint(shown.choice);
  const any = selected.includes(1);
  const sifted = labels.filter((one) => one.kinds && one.hidden.size);
  const states = new Uint8Array(n).fill(SHOWN);
  const { failing } = facets;
  const trusted = $("trust").ariaPressed === "true";
  for (let i = 0; (any || failing || sifted.length) && i < n; i++) {
    if (any && !selected[i]) states[i] = DIM;
    if (failing?.[i]) states[i] = HIDDEN;
    if (sifted.some((one) => one.kinds && one.hidden.has(one.codes[i]))) states[i] = HIDDEN;
  }
  const names =
    label?.kinds && $("names").ariaPressed === "true"
      ? { texts: label.kinds, codes: label.codes, listed: label.listed }
      : null;
  views.forEach((view, place) => {
    const map = place ? place : shown.first;
    view.setInks({ paper: token("--panel"), ink: token("--ink"), accent: token("--accent") });
    const { doubts } = maps[map];
    view.setColors(doubts && trusted ? fade(colors(map), doubts, rgb(token("--panel"))) : colors(map));
    if (errors && sampled)
      view.setStates(
        states.map((state, i) => (state === SHOWN && maps[map].torn[i] === UNKNOWN ? DIM : state)),
      );
    else view.setStates(any || failing || sifted.length ? states : null);
    view.setNames(names);
  });
}

/** A strip of colours. */
export function strip(shade: (unit: number) => Rgb): HTMLCanvasElement {
  const made = Object.assign(document.createElement("canvas"), { width: 64, height: 1, ariaHidden: "true" });
  const context = made.getContext("2d")!;
  for (let x = 0; x < 64; x++) {
    context.fillStyle = css(shade(x / 63));
    context.fillRect(x, 0, 1, 1);
  }
  return made;
}
