// One map on the screen: the scatter view, driven by the signals.

import { computed, effect, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import { Scatter } from "../scatter";
import * as api from "./api";
import { colorsOf, namesOf, shadingOf, statesOf } from "./colors";
import { number } from "./format";
import { neighbors, pick } from "./picking";
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
        const found = await state.attempt(() => api.post<Decoded>(`/api/maps/${id}/decode`, { y }));
        if (!found) wanted = null;
        else if (state.mode.peek() === "decode") decoded.value = found; // and not another tool by now
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
        const colors = colorsOf(shading.value, state.theme.value);
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
        view.setRinged(rows.map((one) => state.pointOf(now, one!.row)).filter((point) => point >= 0));
      }),
      effect(() => {
        const now = current();
        const found = neighbors.value;
        const from = found && found.dataset === now.dataset ? state.pointOf(now, found.row) : -1;
        if (!found || from < 0) return view.setLines([]);
        const points = found.rows.map((row) => state.pointOf(now, row)).filter((point) => point >= 0);
        return view.setLines(points.map((point): [number, number] => [from, point]));
      }),
      effect(() => {
        view.mode = state.mode.value;
        host.current?.setAttribute("data-mode", state.mode.value);
        if (state.mode.value !== "decode") decoded.value = null;
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
