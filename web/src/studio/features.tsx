// Which features a map follows, and in which direction.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Arrow } from "../scatter";
import * as api from "./api";
import { breakable, Button, Empty, Section } from "./controls";
import { number } from "./format";
import * as state from "./state";
import type { MapInfo, Reason } from "./types";

const known = signal<ReadonlyMap<string, readonly Reason[]>>(new Map());
const pending = new Set<string>();
const keyOf = (map: MapInfo): string => `${map.id}/${map.iteration}`;

function ask(map: MapInfo): void {
  const key = keyOf(map);
  if (!state.ended(map) || known.value.has(key) || pending.has(key)) return;
  pending.add(key);
  void state
    .attempt(() => api.get<Reason[]>(`/api/maps/${map.id}/reasons`))
    .then((found) => (known.value = new Map(known.value).set(key, found ?? [])))
    .finally(() => pending.delete(key));
}

const FOLLOWED = 0.1; // share of the variance from which an arrow is drawn
const MOST_ARROWS = 6;
const LONGEST = 0.4; // of the longer side of the map

/** Arrows of the features that a map follows along a direction, while the panel is open. */
export function arrowsOf(map: MapInfo): Arrow[] {
  const shown = state.displayOf(map.id).value;
  const own = state.newestOf(map.id).value;
  if (state.tab.value !== "features" || map.dim !== 2 || !shown || !own) return [];
  const straight = (known.value.get(keyOf(map)) ?? []).filter((one) => one.linear > FOLLOWED);
  const { middle, reach } = extent(shown.positions);
  const turn = linearMap(own.positions, shown.positions);
  return straight.slice(0, MOST_ARROWS).map(({ name, linear, slope: [x, y] }) => {
    const [a, b] = [turn[0] * x + turn[2] * y, turn[1] * x + turn[3] * y];
    const length = (LONGEST * reach * Math.sqrt(linear)) / (Math.hypot(a, b) || 1);
    return { text: name, from: middle, to: [middle[0] + length * a, middle[1] + length * b] };
  });
}

function extent(positions: Float32Array): { middle: [number, number]; reach: number } {
  const side = (d: number): [number, number] => {
    let [low, high] = [Infinity, -Infinity];
    for (let i = d; i < positions.length; i += 2) {
      if (positions[i] < low) low = positions[i];
      if (positions[i] > high) high = positions[i];
    }
    return [low, high];
  };
  const [[a, b], [c, d]] = [side(0), side(1)];
  return { middle: [(a + b) / 2, (c + d) / 2], reach: Math.max(b - a, d - c) };
}

const ENOUGH = 2000; // points from which a linear map is taken

/** The linear map, by rows, that takes directions of some coordinates to those of others, by least squares. */
function linearMap(from: Float32Array, to: Float32Array): [number, number, number, number] {
  if (from === to || from.length !== to.length) return [1, 0, 0, 1];
  const step = 2 * Math.max(1, Math.floor(from.length / 2 / ENOUGH));
  const mean = (of: Float32Array, d: number): number => {
    let [sum, n] = [0, 0];
    for (let i = d; i < of.length; i += step) [sum, n] = [sum + of[i], n + 1];
    return sum / n;
  };
  const [mx, my, ma, mb] = [mean(from, 0), mean(from, 1), mean(to, 0), mean(to, 1)];
  let [xx, xy, yy, xa, xb, ya, yb] = [0, 0, 0, 0, 0, 0, 0];
  for (let i = 0; i < from.length; i += step) {
    const [x, y, a, b] = [from[i] - mx, from[i + 1] - my, to[i] - ma, to[i + 1] - mb];
    xx += x * x;
    xy += x * y;
    yy += y * y;
    xa += x * a;
    xb += x * b;
    ya += y * a;
    yb += y * b;
  }
  const determinant = xx * yy - xy * xy;
  if (!(determinant > 0)) return [1, 0, 0, 1];
  const solve = (p: number, q: number): [number, number] => [
    (yy * p - xy * q) / determinant,
    (xx * q - xy * p) / determinant,
  ];
  const [[a, c], [b, d]] = [solve(xa, ya), solve(xb, yb)];
  return [a, b, c, d];
}

export function FeaturesPanel(): JSX.Element {
  const map = state.active.value;
  useEffect(() => {
    if (map) ask(map);
  }, [map && keyOf(map), map?.status]);
  if (!map)
    return (
      <Empty icon="ask" title="No map yet">
        Run a method, then ask which features its map follows.
      </Empty>
    );
  const found = known.value.get(keyOf(map));
  return (
    <Section title={`What does ${state.titleOf(map)} follow?`}>
      <p class="help">
        The share of each feature that the position on the map predicts (R², from the neighbours on the map,
        without the object itself). Arrows point to where a feature grows over the whole map, by linear
        regression.
      </p>
      {!found && (
        <p class="help">
          {state.ended(map)
            ? "Comparing the features with the map …"
            : "Answers come when the run has ended."}
        </p>
      )}
      {found && found.length > 0 && (
        <Button label="Show what changes here" onClick={() => (state.colorBy.value = "changing")} />
      )}
      {found && found.length > 0 && (
        <table class="reasons">
          <thead>
            <tr>
              <th scope="col">feature</th>
              <th scope="col">R²</th>
              <th scope="col">linear R²</th>
            </tr>
          </thead>
          <tbody>
            {found.map((one) => (
              <tr key={one.name}>
                <th scope="row">
                  <button
                    type="button"
                    class="link"
                    title="Colour the map by this feature"
                    onClick={() => (state.colorBy.value = `column:${one.name}`)}
                  >
                    <bdi>{breakable(one.name)}</bdi>
                  </button>
                </th>
                <td>
                  <meter min={0} max={1} value={Math.max(one.r2, 0)} aria-label={`R² ${number(one.r2)}`} />{" "}
                  {one.r2.toFixed(2)}
                </td>
                <td>{Math.max(one.linear, 0).toFixed(2)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}
