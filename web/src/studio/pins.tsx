// Steering: points that the reader drags or pins, and maps that settle around them.

import type { JSX } from "preact";
import { Button } from "./controls";
import { plural } from "./format";
import * as state from "./state";
import type { MapInfo } from "./types";

/** Holds a point at a place and moves the selection along; without a place, pins it where it is or lets it go. */
export function carry(map: MapInfo, point: number, to: readonly number[] | null): void {
  const shown = state.displayOf(map.id).peek();
  if (!shown || !state.settled(map)) return;
  const pins = state.pinsOf(map.id);
  const next = new Map(pins.peek());
  const place = (one: number): number[] => [
    ...shown.positions.subarray(one * shown.dim, (one + 1) * shown.dim),
  ];
  if (!to && next.has(point)) next.delete(point);
  else {
    const from = place(point);
    for (const one of to ? together(map, point) : [point])
      next.set(
        one,
        place(one).map((value, d) => value + (to ? to[d] - from[d] : 0)),
      );
  }
  pins.value = next;
}

/** The points of the selection if it has this point, else this point alone. */
function together(map: MapInfo, point: number): number[] {
  const points = selected(map);
  return points.includes(point) ? points : [point];
}

function selected(map: MapInfo): number[] {
  const chosen = state.selection.peek();
  if (chosen?.dataset !== map.dataset) return [];
  return [...chosen.rows].map((row) => state.pointOf(map, row)).filter((point) => point >= 0);
}

/** Pins the selection where it is. */
export function pinSelection(map: MapInfo): void {
  const pins = state.pinsOf(map.id).peek();
  selected(map)
    .filter((point) => !pins.has(point))
    .forEach((point) => carry(map, point, null));
}

/** Draws the selection together around its middle, or takes it out of the others: places to settle around. */
export function arrange(map: MapInfo, how: "together" | "apart"): void {
  const shown = state.displayOf(map.id).peek();
  const points = selected(map);
  if (!shown || !state.settled(map) || !points.length) return;
  const { positions } = shown;
  const all = Array.from({ length: map.n }, (_, point) => point);
  const [own, whole] = [spreadOf(positions, points), spreadOf(positions, all)];
  const inside = new Set(points);
  let shift = [0, 0];
  let scale = 1;
  if (how === "together")
    scale = Math.min(1, (DENSER * whole.radius * Math.sqrt(points.length / map.n)) / own.radius);
  else {
    const away = [own.middle[0] - whole.middle[0], own.middle[1] - whole.middle[1]];
    const length = Math.hypot(away[0], away[1]);
    const [a, b] = length > 0 ? [away[0] / length, away[1] / length] : [1, 0];
    const along = (point: number): number => a * positions[2 * point] + b * positions[2 * point + 1];
    let [last, first] = [-Infinity, Infinity];
    for (const point of all)
      if (inside.has(point)) first = Math.min(first, along(point));
      else last = Math.max(last, along(point));
    const gap = Math.max(last - first, 0) + GAP * whole.radius;
    shift = [gap * a, gap * b];
  }
  const next = new Map(state.pinsOf(map.id).peek());
  for (const point of points) {
    const place = [0, 1].map((d) => {
      const from = own.middle[d];
      return from + scale * (positions[2 * point + d] - from) + shift[d];
    });
    next.set(point, place);
  }
  state.pinsOf(map.id).value = next;
}

const DENSER = 0.6; // the radius of a group that is drawn together, as a share of what its size would have
const GAP = 0.3; // between a group that is taken out and the others, in radii of the map

/** The middle of some points, and their root mean square distance to it. */
function spreadOf(
  positions: Float32Array,
  points: readonly number[],
): { middle: [number, number]; radius: number } {
  let [x, y, squares] = [0, 0, 0];
  for (const point of points) [x, y] = [x + positions[2 * point], y + positions[2 * point + 1]];
  const middle: [number, number] = [x / points.length, y / points.length];
  for (const point of points)
    squares += (positions[2 * point] - middle[0]) ** 2 + (positions[2 * point + 1] - middle[1]) ** 2;
  return { middle, radius: Math.sqrt(squares / points.length) || 1 };
}

/** Starts a fit around the points that are held. */
async function settle(map: MapInfo): Promise<void> {
  const pins = Object.fromEntries(
    [...state.pinsOf(map.id).value].map(([point, place]) => [state.rowOf(map, point), place]),
  );
  const subset = map.rows === null ? {} : { rows: [...(state.rowsOf(map.id).value ?? [])] };
  const method = state.methods.value.find((one) => one.name === map.method);
  const folds = method?.parameters.some((one) => one.name === "early_exaggeration");
  const quiet = folds ? { early_exaggeration: 1 } : {}; // it would fold the map again
  const made = await state.embed({
    dataset: map.dataset,
    method: map.method,
    parameters: { ...map.parameters, ...quiet },
    from: map.id,
    pins,
    ...subset,
  });
  if (made) state.pinsOf(map.id).value = new Map();
}

/** What is held on a map, and what can be done with it. */
export function Pins({ map }: { map: MapInfo }): JSX.Element | null {
  const held = state.pinsOf(map.id).value.size;
  const can = state.methods.value.find((one) => one.name === map.method)?.pins;
  if (state.mode.value !== "pin" && !held) return null;
  if (map.dim !== 2) return <p class="pins">Objects can be held on maps of two dimensions.</p>;
  if (!can)
    return <p class="pins">{state.titleOf(map)} cannot hold objects at places; t-SNE and UMAP can.</p>;
  if (!held)
    return (
      <p class="pins">
        {state.settled(map)
          ? "Drag a point, or a selection, to where it should be; click one to hold it where it is."
          : "Objects can be held when the map is finished."}
      </p>
    );
  return (
    <p class="pins">
      <span>{plural(held, "object")} held</span>
      <Button kind="primary" label="Settle around them" onClick={() => void settle(map)} />
      <Button kind="quiet" label="Let go" onClick={() => (state.pinsOf(map.id).value = new Map())} />
    </p>
  );
}
