// Questions to the maps: colours, one object, a selection, quality, suspects.

import { effect, signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { JSX } from "preact";
import { valueColor, css } from "../scatter";
import * as api from "./api";
import { EffectBar, RnxChart, Shepard } from "./charts";
import { ERRORS, choice, errorKind, shading, shadingOf } from "./colors";
import { Button, Empty, Section } from "./controls";
import { count, number, plural, words } from "./format";
import { neighbors, pick, record } from "./plot";
import * as state from "./state";
import type { Difference, MapInfo, Quality, SelectionFacts, Suspect, Value } from "./types";

type Tab = "colours" | "point" | "selection" | "quality" | "suspects";
const TABS: readonly (readonly [Tab, string])[] = [
  ["colours", "Colours"],
  ["point", "Object"],
  ["selection", "Selection"],
  ["quality", "Quality"],
  ["suspects", "Suspects"],
];

export const tab = signal<Tab>("colours");
effect(() => {
  if (state.picked.value) tab.value = "point";
});
effect(() => {
  if (state.selection.value) tab.value = "selection";
});

export function Questions(): JSX.Element {
  const move = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const place = TABS.findIndex(([name]) => name === tab.value);
    tab.value = TABS[(place + step + TABS.length) % TABS.length][0];
    document.getElementById(`tab-${tab.value}`)?.focus();
  };
  return (
    <div class="questions">
      <div class="tabs" role="tablist" aria-label="Questions" onKeyDown={move}>
        {TABS.map(([name, title]) => (
          <button key={name} id={`tab-${name}`} type="button" role="tab" aria-selected={tab.value === name} aria-controls="answers" tabIndex={tab.value === name ? 0 : -1} onClick={() => (tab.value = name)}>
            {title}
          </button>
        ))}
      </div>
      <div id="answers" role="tabpanel" aria-labelledby={`tab-${tab.value}`} tabIndex={-1}>
        {tab.value === "colours" && <Legend />}
        {tab.value === "point" && <ObjectPanel />}
        {tab.value === "selection" && <SelectionPanel />}
        {tab.value === "quality" && <QualityPanel />}
        {tab.value === "suspects" && <SuspectsPanel />}
      </div>
    </div>
  );
}

// --- colours ---

function Legend(): JSX.Element {
  const kind = errorKind();
  const found = shading.value;
  if (kind) return <ErrorLegend />;
  if (!found) return <Empty icon="map" title="One colour">{choice.value === "none" ? "Choose above what colours the points." : "Loading the values …"}</Empty>;
  const title = choice.value.slice(7);
  if (found.kind === "number")
    return (
      <Section title={title}>
        <Scale low={found.low} high={found.high} />
      </Section>
    );
  const hidden = state.hiddenKinds.value;
  const toggle = (code: number, alone: boolean): void => {
    const others = found.names.map((_, other) => other).filter((other) => other !== code);
    const next = new Set(hidden);
    if (alone) state.hiddenKinds.value = new Set(hidden.size === others.length && !hidden.has(code) ? [] : others);
    else {
      if (!next.delete(code)) next.add(code);
      state.hiddenKinds.value = next;
    }
  };
  return (
    <Section title={title} aside={hidden.size > 0 && <Button kind="quiet" label="Show all" onClick={() => (state.hiddenKinds.value = new Set())} />}>
      <ul class="legend">
        {found.names.map((name, code) => (
          <li key={name}>
            <button type="button" aria-pressed={!hidden.has(code)} title="Click hides or shows; shift and click shows this one only" onClick={(event) => toggle(code, event.shiftKey)}>
              <Dot color={found.shades[state.theme.value][code]} />
              <bdi>{name}</bdi>
              <small>{count(found.counts[code])}</small>
            </button>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Dot({ color }: { color: string }): JSX.Element {
  return (
    <svg class="dot" viewBox="0 0 10 10" aria-hidden="true">
      <circle cx="5" cy="5" r="5" fill={color} />
    </svg>
  );
}

function Scale({ low, high }: { low: number; high: number }): JSX.Element {
  const steps = 32;
  return (
    <div class="scale">
      <svg viewBox={`0 0 ${steps} 1`} preserveAspectRatio="none" aria-hidden="true">
        {Array.from({ length: steps }, (_, k) => (
          <rect key={k} x={k} y="0" width="1.05" height="1" fill={css(valueColor(k / (steps - 1), state.theme.value))} />
        ))}
      </svg>
      <span>{number(low)}</span>
      <span>{number(high)}</span>
    </div>
  );
}

function ErrorLegend(): JSX.Element | null {
  const kind = errorKind();
  if (!kind) return null;
  return (
    <Section title={ERRORS[kind].title}>
      <p class="help">{ERRORS[kind].note}</p>
      {state.shownMaps.value.map((map) => {
        const found = shadingOf(map);
        if (found?.kind !== "number") return <p key={map.id} class="help">{state.titleOf(map)}: {["running", "queued"].includes(map.status) ? "after the run" : "computing …"}</p>;
        const mean = found.values.reduce((sum, value) => sum + (Number.isFinite(value) ? value : 0), 0) / found.values.length;
        return (
          <div key={map.id}>
            <h3>{state.titleOf(map)}: mean {number(mean)}</h3>
            <Scale low={found.low} high={found.high} />
          </div>
        );
      })}
    </Section>
  );
}

// --- one object ---

const show = (value: Value): string => (typeof value === "number" ? number(value) : value === null ? "missing" : String(value));

function ObjectPanel(): JSX.Element {
  const picked = state.picked.value;
  const found = record.value;
  const map = state.active.value;
  if (!picked || !map) return <Empty icon="search" title="No object chosen">Click a point to see its record and, as lines, its true neighbours in the data.</Empty>;
  const near = neighbors.value?.row === picked.row ? neighbors.value : null;
  const data = state.datasets.value.get(picked.dataset);
  return (
    <Section title={found?.row === picked.row ? (found.id ?? `Row ${picked.row}`) : `Row ${picked.row}`} aside={<Button kind="quiet" label="Clear" onClick={() => pick(map, -1)} />}>
      {found?.row === picked.row && (
        <>
          {found.image && <img class="portrait" src={found.image} alt={`Image of row ${picked.row}`} />}
          {found.label !== null && (
            <p>
              Label: <strong>{found.label}</strong>
            </p>
          )}
        </>
      )}
      {near && (
        <>
          <h3>Nearest in the data</h3>
          <ul class="neighbours">
            {near.rows.map((row, k) => (
              <li key={row}>
                <button type="button" onClick={() => pick(map, row)}>
                  {data?.images && <img src={`/api/datasets/${data.id}/images/${row}`} alt="" loading="lazy" />}
                  <span>row {row}</span>
                  <small>{number(near.distances[k])}</small>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
      {found?.row === picked.row && (
        <table class="record">
          <tbody>
            {found.values.slice(0, 40).map(([name, value]) => (
              <tr key={name}>
                <th scope="row">
                  <bdi>{name}</bdi>
                </th>
                <td>{show(value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}

// --- a selection ---

const facts = signal<SelectionFacts | null>(null);
let asking = 0;

effect(() => {
  const chosen = state.selection.value;
  const map = state.active.value;
  const mine = ++asking;
  if (!chosen || !map || map.dataset !== chosen.dataset || !state.settled(map)) {
    facts.value = null;
    return;
  }
  const points = map.rows === null ? [...chosen.rows] : [...chosen.rows].map((row) => state.pointOf(map, row)).filter((point) => point >= 0);
  if (!points.length) return;
  setTimeout(() => {
    if (mine !== asking) return;
    void state.attempt(async () => {
      const found = await api.post<SelectionFacts>(`/api/maps/${map.id}/selection`, { points });
      if (mine === asking) facts.value = found;
    });
  }, 150);
});

function SelectionPanel(): JSX.Element {
  const chosen = state.selection.value;
  const map = state.active.value;
  if (!chosen || !map) return <Empty icon="lasso" title="Nothing selected">Hold shift and draw around points, or choose Select above. All maps highlight the same objects.</Empty>;
  const found = facts.value;
  const differences = found ? [...found.categories, ...found.columns].sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect)) : [];
  const sub = (): void => {
    const method = state.method.value;
    if (!method) return;
    const parameters = state.forms.value.get(method.name) ?? {};
    void state.embed({ dataset: map.dataset, method: method.name, parameters, rows: [...chosen.rows], from: map.id });
  };
  return (
    <Section title={`${plural(chosen.rows.length, "object")} selected`} aside={<Button kind="quiet" label="Clear" onClick={() => (state.selection.value = null)} />}>
      <Button icon="map" label={`Embed these alone by ${state.method.value?.title ?? ""}`} onClick={sub} />
      {differences.length > 0 && (
        <>
          <h3>What distinguishes them</h3>
          <Differences list={differences.slice(0, 20)} />
        </>
      )}
      {found && !differences.length && <p class="help">No column distinguishes them from the others.</p>}
      {!found && <p class="help">{["running", "queued"].includes(map.status) ? "Answers come when the map is finished or paused." : "Comparing the columns …"}</p>}
    </Section>
  );
}

function Differences({ list }: { list: readonly Difference[] }): JSX.Element {
  const most = Math.max(...list.map((one) => Math.abs(one.effect)));
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">column</th>
          <th scope="col">here</th>
          <th scope="col">others</th>
          <th scope="col">effect</th>
        </tr>
      </thead>
      <tbody>
        {list.map((one) => (
          <tr key={one.name + (one.value ?? "")}>
            <th scope="row">
              <button type="button" class="link" onClick={() => (state.colorBy.value = `column:${one.name}`)}>
                <bdi>{one.value === undefined ? one.name : `${one.name}: ${one.value}`}</bdi>
              </button>
            </th>
            <td>{amount(one, one.inside)}</td>
            <td>{amount(one, one.outside)}</td>
            <td title={`effect ${number(one.effect)}`}>
              <EffectBar effect={one.effect} most={most} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A mean, or the share of a category. */
const amount = (one: Difference, value: Value): string =>
  one.value !== undefined && typeof value === "number" ? `${Math.round(100 * value)} %` : show(value);

// --- quality ---

const qualities = signal<ReadonlyMap<string, Quality>>(new Map());
const pending = new Set<string>();
const ended = (map: MapInfo): boolean => map.status === "done" || map.status === "stopped";
const keyOf = (map: MapInfo): string => `${map.id}/${map.iteration}`;

function ask(map: MapInfo): void {
  const key = keyOf(map);
  if (!ended(map) || qualities.value.has(key) || pending.has(key)) return;
  pending.add(key);
  void state.attempt(async () => {
    const found = await api.patiently(() => api.values(`/api/maps/${map.id}/quality`) as Promise<Quality | null>);
    if (found) qualities.value = new Map(qualities.value).set(key, found);
  }).finally(() => pending.delete(key));
}

const FEW = 7; // measures that are listed at first

function QualityPanel(): JSX.Element {
  const all = useSignal(false);
  const maps = state.shownMaps.value;
  useEffect(() => maps.forEach(ask), [maps.map(keyOf).join(), maps.map((map) => map.status).join()]);
  const known = maps.map((map) => ({ map, found: qualities.value.get(keyOf(map)) }));
  const measures = new Map(known.flatMap(({ found }) => found?.measures ?? []).map((one) => [one.name, one]));
  const value = (found: Quality | undefined, name: string): string => {
    const one = found?.measures.find((measure) => measure.name === name);
    return one ? one.value.toFixed(3) : found ? "–" : "…";
  };
  const active = known.find(({ map }) => map.id === state.activeId.value) ?? known[0];
  if (!maps.length) return <Empty icon="ask" title="No map yet">Run a method, then ask how true its map is.</Empty>;
  const curves = known.flatMap(({ map, found }) => (found?.r_nx ? [{ name: state.titleOf(map), points: found.r_nx }] : []));
  return (
    <>
      <Section title="How true are the maps?">
        {measures.size > 0 && (
          <div class="scroll">
            <table>
              <thead>
                <tr>
                  <th scope="col">measure</th>
                  {known.map(({ map }) => (
                    <th key={map.id} scope="col">
                      <bdi>{state.titleOf(map)}</bdi>
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {[...measures.values()].slice(0, all.value ? measures.size : FEW).map((one) => (
                  <tr key={one.name} title={one.meaning}>
                    <th scope="row">{one.label}</th>
                    {known.map(({ map, found }) => (
                      <td key={map.id}>{value(found, one.name)}</td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        {measures.size > FEW && <Button kind="quiet" label={all.value ? "Fewer measures" : `All ${measures.size} measures`} onClick={() => (all.value = !all.value)} />}
        {active?.found?.verdict && <p>{active.found.verdict}</p>}
        {known.some(({ found }) => !found) && <p class="help">{known.every(({ map }) => ended(map)) ? "Measuring …" : "Measured when the run has ended."}</p>}
        {active?.found?.sample && <p class="help">Measured on {count(active.found.sample)} objects.</p>}
      </Section>
      {active && <Warnings map={active.map} found={active.found} />}
      {curves.length > 0 && (
        <Section title="Neighbourhoods of every size">
          <p class="help">R_NX(K): how much of the K nearest neighbours a map keeps; 1 is all, 0 is chance.</p>
          <RnxChart curves={curves} />
        </Section>
      )}
      {active?.found?.shepard && (
        <Section title={`Distances, ${state.titleOf(active.map)}`}>
          <Shepard pairs={active.found.shepard} name={state.titleOf(active.map)} />
        </Section>
      )}
      {active && ended(active.map) && <Stability map={active.map} />}
    </>
  );
}

function Warnings({ map, found }: { map: MapInfo; found: Quality | undefined }): JSX.Element | null {
  const lines = [...new Set([...(found?.warnings ?? []), ...map.warnings])];
  if (!lines.length) return null;
  return (
    <Section title="Do not read from this map">
      <ul class="warnings">
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </Section>
  );
}

interface StabilityFacts {
  [name: string]: unknown;
}

/** Runs with other seeds: what stays in place can be believed more. */
function Stability({ map }: { map: MapInfo }): JSX.Element {
  const found = useSignal<StabilityFacts | null>(null);
  const busy = useSignal(false);
  const run = async (): Promise<void> => {
    busy.value = true;
    found.value = await state.attempt(() => api.patiently(() => api.values(`/api/maps/${map.id}/stability`) as Promise<StabilityFacts | null>));
    busy.value = false;
    if (found.value) state.colorBy.value = "error:spread";
  };
  const lines = Object.entries(found.value ?? {}).filter(([, value]) => typeof value === "number" || typeof value === "string");
  return (
    <Section title="What is stable?">
      <p class="help">Runs {state.titleOf(map)} again with other seeds and colours each object by how far it moves between the runs.</p>
      <Button icon="reset" label={busy.value ? "Running …" : "Run again with other seeds"} disabled={busy.value} onClick={() => void run()} />
      {lines.length > 0 && (
        <table class="record">
          <tbody>
            {lines.map(([name, value]) => (
              <tr key={name}>
                <th scope="row">{words(name)}</th>
                <td>{show(value as Value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}

// --- suspects ---

const suspects = signal<ReadonlyMap<string, readonly Suspect[]>>(new Map());

function SuspectsPanel(): JSX.Element {
  const data = state.dataset.value;
  const map = state.active.value;
  const found = data && suspects.value.get(data.id);
  useEffect(() => {
    if (!data || suspects.value.has(data.id)) return;
    void state.attempt(async () => {
      const list = await api.patiently(() => api.values(`/api/datasets/${data.id}/suspects?limit=60`) as unknown as Promise<Suspect[] | null>);
      if (list) suspects.value = new Map(suspects.value).set(data.id, list);
    });
  }, [data?.id]);
  if (!data) return <Empty icon="ask" title="No data yet" />;
  return (
    <Section title="Suspects">
      <p class="help">Outliers, and objects whose neighbours in the data carry another label. Ranked; click one to see it on the maps.</p>
      {!found && <p class="help">Looking at the neighbours …</p>}
      {found?.length === 0 && <p class="help">None found.</p>}
      <ul class="suspects">
        {found?.map((one) => (
          <li key={one.row}>
            <button type="button" aria-pressed={state.picked.value?.row === one.row} onClick={() => map && pickHere(map, one.row)}>
              {data.images && <img src={`/api/datasets/${data.id}/images/${one.row}`} alt="" loading="lazy" />}
              <span>
                <strong>
                  row {one.row}
                  {one.label !== null && one.neighbours_label !== null && one.label !== one.neighbours_label && `: ${one.label}, or ${one.neighbours_label}?`}
                </strong>
                <small>{one.why}</small>
              </span>
              <small>{number(one.score)}</small>
            </button>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Picks an object without leaving the list. */
function pickHere(map: MapInfo, row: number): void {
  pick(map, row);
  tab.value = "suspects";
}
