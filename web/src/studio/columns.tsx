// The columns of the data as small histograms that filter the maps.

import { useSignal } from "@preact/signals";
import type { JSX, TargetedPointerEvent } from "preact";
import { choice } from "./colors";
import { Button, Empty, Section } from "./controls";
import {
  BINS,
  countsOf,
  filters,
  removing,
  setFilter,
  sortedColumn,
  toggleKind,
  type Filter,
} from "./filters";
import { count, date, number } from "./format";
import * as state from "./state";
import type { Column, Dataset } from "./types";

const FEW = 12; // columns that are listed at first
const FEW_KINDS = 8; // categories of a column

export function ColumnsPanel(): JSX.Element {
  const more = useSignal(FEW);
  const data = state.dataset.value;
  if (!data) return <Empty icon="data" title="No data yet" />;
  const columns = data.columns.filter(({ kind }) => kind !== "id");
  const left = removing.value?.left;
  return (
    <Section
      title="Columns"
      aside={
        filters.value.size > 0 && (
          <Button kind="quiet" label="Clear filters" onClick={() => (filters.value = new Map())} />
        )
      }
    >
      <p class="help" role="status">
        {left === undefined
          ? "Drag over a histogram or click a category: the maps show only the objects that pass."
          : `${count(left)} of ${count(data.n)} objects pass`}
      </p>
      <ul class="facets">
        {columns.slice(0, more.value).map((column) => (
          <Facet key={column.name} data={data} column={column} />
        ))}
      </ul>
      {columns.length > more.value && (
        <Button
          kind="quiet"
          label={`${count(columns.length - more.value)} more columns`}
          onClick={() => (more.value += 2 * FEW)}
        />
      )}
    </Section>
  );
}

function toggleField(name: string): void {
  const others = state.tipFields.value.filter((one) => one !== name);
  state.tipFields.value = others.length < state.tipFields.value.length ? others : [...others, name];
}

function Facet({ data, column }: { data: Dataset; column: Column }): JSX.Element {
  const { name, kind } = column;
  const found = kind === "text" ? null : sortedColumn(data, column);
  const filter = filters.value.get(name);
  const key = `column:${name}`;
  return (
    <li data-on={filter !== undefined}>
      <header>
        <button
          type="button"
          class="link"
          aria-pressed={choice.value === key}
          title="Colour the points by this column"
          onClick={() => (state.colorBy.value = key)}
        >
          <bdi>{name}</bdi>
        </button>
        <span class="space" />
        <Button
          kind="quiet"
          icon="tip"
          hideLabel
          label={`Show ${name} under the pointer`}
          pressed={state.tipFields.value.includes(name)}
          onClick={() => toggleField(name)}
        />
        {filter && <Button kind="quiet" label={`All of ${name}`} onClick={() => setFilter(name, null)} />}
      </header>
      {kind === "text" ? null : !found ? (
        <small>Loading …</small>
      ) : kind === "category" ? (
        <KindBars name={name} names={found.names} counts={countsOf(found)} filter={filter} />
      ) : (
        <Brush column={column} counts={countsOf(found)} at={found.scale.at} filter={filter} />
      )}
    </li>
  );
}

interface BrushProps {
  column: Column;
  counts: Uint32Array;
  at: (unit: number) => number;
  filter: Filter | undefined;
}

/** A histogram with a range that is dragged over it, or set by two sliders. */
function Brush({ column, counts, at, filter }: BrushProps): JSX.Element {
  const start = useSignal<number | null>(null);
  const { name } = column;
  const show = column.kind === "date" ? (value: number): string => date(value, column) : number;
  const edge = (bin: number): number => at(bin / BINS);
  const range = filter && "low" in filter ? filter : null;
  // The edges of bins are found again from the values that they have.
  const bins = Array.from({ length: BINS + 1 }, (_, k) => edge(k));
  const from = range
    ? Math.max(
        bins.findIndex((value) => value >= range.low),
        0,
      )
    : 0;
  const to = range ? bins.findLastIndex((value) => value <= range.high) : BINS;
  const set = (a: number, b: number): void => {
    const [low, high] = [Math.min(a, b), Math.max(a, b)];
    if (low === high) return;
    setFilter(name, low === 0 && high === BINS ? null : { low: edge(low), high: edge(high) });
  };
  const binAt = (event: TargetedPointerEvent<SVGSVGElement>, round: (value: number) => number): number => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.min(Math.max(round(((event.clientX - box.left) / box.width) * BINS), 0), BINS);
  };
  const drag = (event: TargetedPointerEvent<SVGSVGElement>): void => {
    if (start.value === null) return;
    const end = binAt(event, start.value <= binAt(event, Math.floor) ? Math.ceil : Math.floor);
    set(start.value, end === start.value ? end + 1 : end);
  };
  const most = Math.max(...counts, 1);
  const slider = (label: string, value: number, move: (bin: number) => void): JSX.Element => (
    <input
      type="range"
      min={0}
      max={BINS}
      step={1}
      value={value}
      aria-label={`${label} ${name}`}
      aria-valuetext={show(edge(value))}
      onInput={(event) => move(event.currentTarget.valueAsNumber)}
    />
  );
  return (
    <div class="brush">
      <svg
        viewBox={`0 0 ${BINS} 20`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Histogram of ${name}`}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          start.value = binAt(event, Math.floor);
        }}
        onPointerMove={drag}
        onPointerUp={(event) => {
          drag(event);
          start.value = null;
        }}
      >
        {Array.from(counts, (value, k) => (
          <rect
            key={k}
            class={k >= from && k < to ? "in" : "out"}
            x={k + 0.06}
            width={0.88}
            y={20 - (20 * value) / most}
            height={(20 * value) / most}
          />
        ))}
      </svg>
      <div class="ends">
        {slider("Least", from, (bin) => set(Math.min(bin, to - 1), to))}
        {slider("Greatest", to, (bin) => set(from, Math.max(bin, from + 1)))}
      </div>
      <small>
        {show(edge(from))} to {show(edge(to))}
      </small>
    </div>
  );
}

interface KindProps {
  name: string;
  names: readonly string[];
  counts: Uint32Array;
  filter: Filter | undefined;
}

/** Categories, the most frequent first; a click lets them pass. */
function KindBars({ name, names, counts, filter }: KindProps): JSX.Element {
  const all = useSignal(false);
  const passing = filter && "codes" in filter ? filter.codes : null;
  const order = Array.from(counts.keys()).sort((a, b) => counts[b] - counts[a]);
  const listed = all.value ? order : order.filter((code, k) => k < FEW_KINDS || passing?.has(code));
  const most = Math.max(...counts, 1);
  return (
    <>
      <ul class="kinds">
        {listed.map((code) => (
          <li key={code}>
            <button
              type="button"
              aria-pressed={passing?.has(code) ?? false}
              onClick={() => toggleKind(name, code)}
            >
              <bdi>{names[code]}</bdi>
              <small>{count(counts[code])}</small>
              <i style={{ width: `${(100 * counts[code]) / most}%` }} />
            </button>
          </li>
        ))}
      </ul>
      {order.length > listed.length && (
        <Button
          kind="quiet"
          label={`${order.length - listed.length} more of ${name}`}
          onClick={() => (all.value = true)}
        />
      )}
    </>
  );
}
