// What distinguishes the selected objects from the others.

import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { Annotate } from "./annotation";
import * as api from "./api";
import { EffectBar } from "./charts";
import { breakable, Button, Empty, Section } from "./controls";
import { kindsByPoint } from "./colors";
import { count, number, plural, shownValue } from "./format";
import { arrange, pinSelection } from "./pins";
import * as state from "./state";
import type { Difference, MapInfo, SelectionFacts, Value } from "./types";

const facts = signal<SelectionFacts | null>(null);
let asking = 0;

/** The region that was clicked, and the selection that this made. */
const fromRegion = signal<{ code: number; selection: typeof state.selection.value } | null>(null);

effect(() => {
  const chosen = state.selection.value;
  const map = state.active.value;
  const mine = ++asking;
  facts.value = null; // those of another selection
  if (!chosen || !map || map.dataset !== chosen.dataset || !state.settled(map)) return;
  const points =
    map.rows === null
      ? [...chosen.rows]
      : [...chosen.rows].map((row) => state.pointOf(map, row)).filter((point) => point >= 0);
  if (!points.length) return;
  setTimeout(() => {
    if (mine !== asking) return;
    void state.attempt(async () => {
      const found = await api.post<SelectionFacts>(`/api/maps/${map.id}/selection`, { points });
      if (mine === asking) facts.value = found;
    });
  }, 150);
});

export function SelectionPanel(): JSX.Element {
  const chosen = state.selection.value;
  const map = state.active.value;
  if (!chosen || !map)
    return (
      <>
        {map && <RegionsToSelect map={map} />}
        <Empty icon="lasso" title="Nothing selected">
          Hold shift and draw around points, or choose Select above. All maps highlight the same objects.
        </Empty>
      </>
    );
  const found = facts.value;
  const differences = found
    ? [...found.categories, ...found.columns].sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect))
    : [];
  const sub = (): void => {
    const method = state.method.value;
    if (!method) return;
    const parameters = state.forms.value.get(method.name) ?? {};
    void state.embed({
      dataset: map.dataset,
      method: method.name,
      parameters,
      rows: [...chosen.rows],
      from: map.id,
    });
  };
  return (
    <>
      {fromRegion.value?.selection === chosen && <RegionsToSelect map={map} />}
      <Section
        title={`${plural(chosen.rows.length, "object")} selected`}
        aside={<Button kind="quiet" label="Clear" onClick={() => (state.selection.value = null)} />}
      >
        <Button icon="map" label={`Embed these alone by ${state.method.value?.title ?? ""}`} onClick={sub} />
        {map.dim === 2 && state.settled(map) && (
          <div class="steer" role="group" aria-label="Where these belong">
            <Button icon="pin" label="Hold these here" onClick={() => pinSelection(map)} />
            <Button label="They belong together" onClick={() => arrange(map, "together")} />
            <Button label="They belong apart" onClick={() => arrange(map, "apart")} />
          </div>
        )}
        <Annotate key={chosen.rows.length} dataset={map.dataset} rows={chosen.rows} />
        {differences.length > 0 && (
          <>
            <h3>What distinguishes them</h3>
            <Differences list={differences.slice(0, 20)} />
          </>
        )}
        {found && !differences.length && <p class="help">No column distinguishes them from the others.</p>}
        {!found && (
          <p class="help">
            {state.computing(map)
              ? "Answers come when the map is finished or paused."
              : "Comparing the columns …"}
          </p>
        )}
      </Section>
    </>
  );
}

/** The regions of a map, each of which is selected by a click. */
function RegionsToSelect({ map }: { map: MapInfo }): JSX.Element | null {
  const found = kindsByPoint(map, "regions");
  if (found?.kind !== "category") return null;
  const now = state.selection.value;
  const select = (code: number): void => {
    const points = [...(found.codes as Int32Array)].flatMap((own, point) => (own === code ? [point] : []));
    state.select(map, Uint32Array.from(points));
    fromRegion.value = { code, selection: state.selection.value };
  };
  return (
    <Section title={`Regions of ${state.titleOf(map)}`}>
      <div class="chips" role="group" aria-label="Select a region">
        {found.names.map((name, code) => (
          <button
            key={code}
            type="button"
            aria-pressed={
              now !== null && fromRegion.value?.selection === now && fromRegion.value.code === code
            }
            onClick={() => select(code)}
          >
            <bdi>{name}</bdi> <small>{count(found.counts[code])}</small>
          </button>
        ))}
      </div>
      {found.names.some((name) => name.endsWith("?")) && (
        <p class="help">A question mark: no gap around the region was found in the data.</p>
      )}
    </Section>
  );
}

/** Differences between some objects and others, as a table. */
export function Differences({
  list,
  heads = ["here", "others"],
}: {
  list: readonly Difference[];
  heads?: readonly [string, string];
}): JSX.Element {
  const most = Math.max(...list.map((one) => Math.abs(one.effect)));
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">column</th>
          <th scope="col">{heads[0]}</th>
          <th scope="col">{heads[1]}</th>
          <th scope="col">effect</th>
        </tr>
      </thead>
      <tbody>
        {list.map((one) => (
          <tr key={one.name + (one.value ?? "")}>
            <th scope="row">
              <button type="button" class="link" onClick={() => (state.colorBy.value = `column:${one.name}`)}>
                <bdi>{breakable(one.value === undefined ? one.name : `${one.name}: ${one.value}`)}</bdi>
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
  one.value !== undefined && typeof value === "number" ? `${Math.round(100 * value)} %` : shownValue(value);
