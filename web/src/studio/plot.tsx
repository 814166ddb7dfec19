// One map on the screen: the scatter view, driven by the signals.

import { computed, effect, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import { rgb, Scatter } from "../scatter";
import * as api from "./api";
import { colorsOf, namesOf, shadingOf, statesOf } from "./colors";
import { arrowsOf } from "./features";
import { number } from "./format";
import { neighbors, pick } from "./picking";
import { carry } from "./pins";
import * as state from "./state";
import { regionsOf } from "./regions";
import { tip } from "./tooltip";
import type { MapInfo, Value } from "./types";

/** The views on the page by map, for pictures to take away. */
export const views = new Map<string, Scatter>();

interface Decoded {
  image: string | null;
  values: [string, Value][];
}

const FRAME_MOVE = 90; // milliseconds in which points move to the next frame of a fit
const MORPH = 1400; // milliseconds in which a map turns into another

export function Plot({ map }: { map: MapInfo }): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const decoded = useSignal<Decoded | null>(null);
  const along = useSignal<readonly Decoded[]>([]);
  const path = useSignal<readonly number[][]>([]);
  const { id } = map;

  useEffect(() => {
    const current = (): MapInfo => state.maps.peek().get(id) ?? map;
    const size = computed(() => state.displayOf(id).value?.positions.length ?? 0);
    const shading = computed(() => shadingOf(state.maps.value.get(id) ?? map));
    let decoding = false;
    let wanted: number[] | null = null;
    const decode = async (): Promise<void> => {
      if (decoding) return;
      decoding = true;
      while (wanted) {
        const y = wanted;
        wanted = null;
        const found = await state.attempt(() => decodePlaces(id, [y]));
        if (!found) wanted = null;
        else if (state.mode.peek() === "decode") decoded.value = found[0]; // and not another tool by now
      }
      decoding = false;
    };
    const view = new Scatter(host.current!, {
      label: `Map by ${state.titleOf(map)}. Drag to move, scroll to zoom, shift and drag to select, click a point for its neighbours.`,
      wheelAlways: true,
      withoutWebgl: location.search.includes("webgl=0"),
      events: {
        hover: (point, event) => {
          const row = point < 0 ? -1 : state.rowOf(current(), point);
          state.hovered.value = row < 0 ? null : { dataset: map.dataset, row };
          tip.value = row < 0 ? null : { x: event.clientX, y: event.clientY, row, map: id };
        },
        click: (point) => {
          state.activeId.value = id;
          pick(current(), point < 0 ? -1 : state.rowOf(current(), point));
        },
        select: (points) => {
          state.activeId.value = id;
          state.select(current(), points);
        },
        decode: (y) => {
          if (!current().decodes) return;
          wanted = y;
          void decode();
        },
        path: (places) => {
          const some = evenly(places, ALONG);
          path.value = some;
          along.value = [];
          if (some.length < 2 || !current().decodes) return;
          void state.attempt(async () => {
            const found = await decodePlaces(id, some);
            if (path.peek() === some) along.value = found;
          });
        },
        carry: (point, to) => {
          state.activeId.value = id;
          carry(current(), point, to);
        },
        escape: () => {
          state.selection.value = null;
          pick(current(), -1);
        },
      },
    });
    views.set(id, view);
    let morphed: string | null = null;
    const effects = [
      effect(() => {
        const colors = getComputedStyle(document.documentElement);
        const token = (name: string): string => colors.getPropertyValue(name).trim();
        void state.theme.value;
        view.setInks({
          ink: token("--ink"),
          paper: token("--panel"),
          accent: token("--accent"),
        });
      }),
      effect(() => {
        const shown = state.displayOf(id).value;
        const into = state.morphOf(id).value;
        if (!shown) return;
        const turned = into !== morphed;
        morphed = into;
        const frame = state.rewindOf(id).peek()?.frame;
        const moves = turned || frame === state.OTHER_SEED ? MORPH : frame === undefined ? FRAME_MOVE : 0;
        view.setPositions(shown.positions, shown.dim, moves);
      }),
      effect(() => {
        void size.value; // colours and states are by point
        const paper = getComputedStyle(document.documentElement).getPropertyValue("--panel").trim();
        const colors = colorsOf(
          state.maps.value.get(id) ?? map,
          shading.value,
          state.theme.value,
          rgb(paper),
        );
        view.setColors(colors && colors.length === view.n ? colors : null);
      }),
      effect(() => {
        void size.value;
        view.setStates(statesOf(current(), shading.value));
      }),
      effect(() => view.setNames(namesOf(shading.value))),
      effect(() => {
        const now = state.maps.value.get(id) ?? map;
        view.setRegions(state.showRegions.value && state.ended(now) ? regionsOf(now) : null);
      }),
      effect(() => view.showContours(state.showContours.value)),
      effect(() => {
        const now = current();
        const rows = [state.hovered.value, state.picked.value].filter((one) => one?.dataset === now.dataset);
        const points = rows.map((one) => state.pointOf(now, one!.row)).filter((point) => point >= 0);
        view.setRinged([...points, ...state.pinsOf(id).value.keys()]);
      }),
      effect(() => {
        const now = current();
        const found = neighbors.value;
        const from = found && found.dataset === now.dataset ? state.pointOf(now, found.row) : -1;
        const drawn = path.value;
        if (drawn.length) return view.setLines(drawn.slice(1).map((to, k) => [drawn[k], to] as const));
        if (!found || from < 0) return view.setLines([]);
        const points = found.rows.map((row) => state.pointOf(now, row)).filter((point) => point >= 0);
        return view.setLines(points.map((point): [number, number] => [from, point]));
      }),
      effect(() => {
        view.mode = state.mode.value;
        host.current?.setAttribute("data-mode", state.mode.value);
        if (state.mode.value === "decode") return;
        decoded.value = null;
        path.value = [];
        along.value = [];
      }),
      effect(() => view.setArrows(arrowsOf(state.maps.value.get(id) ?? map))),
      effect(() => {
        const images = state.showImages.value && state.datasets.value.get(map.dataset)?.images;
        view.setThumbnails(
          images
            ? (point) => imageOf(map.dataset, state.rowOf(current(), point), () => view.redraw(false))
            : null,
        );
      }),
    ];
    return () => {
      effects.forEach((stop) => stop());
      views.delete(id);
      view.destroy();
    };
  }, [id]);

  const shown = decoded.value;
  return (
    <div class="plot">
      <div ref={host} data-map={id} />
      {shown && (
        <div class="decoded" role="status" aria-label="Decoded object">
          {shown.image ? (
            <img src={shown.image} alt="The object decoded from this place" />
          ) : (
            <FeatureBars values={shown.values} />
          )}
          <small>decoded here</small>
        </div>
      )}
      {along.value.length > 0 && <Along objects={along.value} />}
      {state.mode.value === "decode" && !map.decodes && (
        <p class="hint">
          {state.ended(map)
            ? `${state.titleOf(map)} has no decoder for this map.`
            : "Decoding needs a finished map."}
        </p>
      )}
    </div>
  );
}

const ALONG = 10; // places of a path that are decoded

const decodePlaces = (id: string, places: readonly number[][]): Promise<Decoded[]> =>
  api.post<Decoded[]>(`/api/maps/${id}/decode`, { places });

/** Some of the entries of a list at even distances, the first and the last among them. */
function evenly<T>(list: readonly T[], most: number): readonly T[] {
  if (list.length <= most) return list;
  return Array.from({ length: most }, (_, k) => list[Math.round((k * (list.length - 1)) / (most - 1))]);
}

const MOST_CURVES = 6;

/** The objects along a path: images, or the features that change most. */
function Along({ objects }: { objects: readonly Decoded[] }): JSX.Element {
  if (objects[0].image)
    return (
      <div class="along" role="status" aria-label="Objects along the path">
        {objects.map((one, k) => (
          <img key={k} src={one.image ?? ""} alt={`The object at place ${k + 1} of the path`} />
        ))}
      </div>
    );
  const curves = objects[0].values
    .map(([name], j) => ({ name, values: objects.map((one) => Number(one.values[j][1])) }))
    .map((one) => ({ ...one, low: Math.min(...one.values), high: Math.max(...one.values) }))
    .map((one) => ({ ...one, change: (one.high - one.low) / (Math.abs(one.high) + Math.abs(one.low) || 1) }))
    .sort((a, b) => b.change - a.change)
    .slice(0, MOST_CURVES);
  return (
    <table class="along" role="status" aria-label="Features along the path">
      <tbody>
        {curves.map(({ name, values, low, high }) => (
          <tr key={name}>
            <th scope="row">
              <bdi>{name}</bdi>
            </th>
            <td>{number(values[0])}</td>
            <td>
              <svg viewBox="0 0 60 16" aria-hidden="true">
                <polyline
                  points={values
                    .map(
                      (v, k) =>
                        `${(60 * k) / (values.length - 1)},${15 - (14 * (v - low)) / (high - low || 1)}`,
                    )
                    .join(" ")}
                />
              </svg>
            </td>
            <td>{number(values[values.length - 1])}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const images = new Map<string, HTMLImageElement>();

/** The image of an object; null until it has arrived, which `arrived` is called for. */
function imageOf(dataset: string, row: number, arrived: () => void): HTMLImageElement | null {
  const source = `/api/datasets/${dataset}/images/${row}`;
  let image = images.get(source);
  if (!image) {
    image = new Image();
    image.onload = arrived;
    image.src = source;
    images.set(source, image);
  }
  return image.complete && image.naturalWidth > 0 ? image : null;
}

const MOST_BARS = 12;

/** Features of a decoded object as bars. */
export function FeatureBars({ values }: { values: readonly (readonly [string, Value])[] }): JSX.Element {
  const numbers = values
    .filter((one): one is [string, number] => typeof one[1] === "number")
    .slice(0, MOST_BARS);
  const most = Math.max(...numbers.map(([, value]) => Math.abs(value)), 1e-12);
  return (
    <table class="bars">
      <tbody>
        {numbers.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">
              <bdi>{name}</bdi>
            </th>
            <td>
              <meter min={0} max={most} value={Math.abs(value)} />
            </td>
            <td>{number(value)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
