// What is under the pointer.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import * as api from "./api";
import { shadingOf } from "./colors";
import { shownValue } from "./format";
import { nameOf } from "./names";
import * as state from "./state";
import type { RecordOf, Value } from "./types";

interface Tip {
  x: number;
  y: number;
  row: number;
  map: string;
}

export const tip = signal<Tip | null>(null);

const WAIT = 60; // milliseconds that the pointer rests on an object before its values are asked for

/** The values of the chosen columns of one object. */
const fields = signal<{ key: string; values: [string, Value][] } | null>(null);
let asking = 0;

function fieldsOf(dataset: string, row: number): [string, Value][] {
  const names = state.tipFields.value.filter((name) =>
    state.datasets.value.get(dataset)?.columns.some((one) => one.name === name),
  );
  if (!names.length) return [];
  const query = names.map((name) => `field=${encodeURIComponent(name)}`).join("&");
  const key = `/api/datasets/${dataset}/records/${row}?${query}`;
  if (fields.value?.key === key) return fields.value.values;
  clearTimeout(asking);
  asking = window.setTimeout(() => {
    void api.get<RecordOf>(key).then(
      ({ values }) => (fields.value = { key, values }),
      () => undefined,
    );
  }, WAIT);
  return [];
}

export function Tooltip(): JSX.Element | null {
  const box = useRef<HTMLDivElement>(null);
  const shown = tip.value;
  useEffect(() => {
    const element = box.current;
    if (!element || !shown) return;
    const right = shown.x + 16 + element.offsetWidth > innerWidth;
    const low = shown.y + 16 + element.offsetHeight > innerHeight;
    const x = right ? shown.x - 16 - element.offsetWidth : shown.x + 16;
    const y = low ? shown.y - 16 - element.offsetHeight : shown.y + 16;
    element.style.transform = `translate(${Math.max(x, 4)}px, ${Math.max(y, 4)}px)`;
  });
  const map = shown && state.maps.value.get(shown.map);
  const data = map && state.datasets.value.get(map.dataset);
  if (!shown || !map || !data) return null;
  const shading = shadingOf(map);
  const point = state.pointOf(map, shown.row);
  const value =
    shading &&
    (shading.kind === "category" ? shading.names[shading.codes[point]] : shading.show(shading.values[point]));
  return (
    <div ref={box} class="tip" role="status">
      {data.images && <img src={`/api/datasets/${data.id}/images/${shown.row}`} alt="" />}
      <span>
        {value !== null && value !== undefined && <strong>{value}</strong>}
        <small>{nameOf(map.dataset, shown.row)}</small>
        {fieldsOf(map.dataset, shown.row).map(([name, value]) => (
          <small key={name}>
            <bdi>{name}</bdi>: <bdi>{shownValue(value)}</bdi>
          </small>
        ))}
      </span>
    </div>
  );
}
