// What distinguishes the selected objects from the others.

import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import * as api from "./api";
import { EffectBar } from "./charts";
import { Button, Empty, Section } from "./controls";
import { number, plural, shownValue } from "./format";
import * as state from "./state";
import type { Difference, SelectionFacts, Value } from "./types";

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
      <Empty icon="lasso" title="Nothing selected">
        Hold shift and draw around points, or choose Select above. All maps highlight the same objects.
      </Empty>
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
    <Section
      title={`${plural(chosen.rows.length, "object")} selected`}
      aside={<Button kind="quiet" label="Clear" onClick={() => (state.selection.value = null)} />}
    >
      <Button icon="map" label={`Embed these alone by ${state.method.value?.title ?? ""}`} onClick={sub} />
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
  one.value !== undefined && typeof value === "number" ? `${Math.round(100 * value)} %` : shownValue(value);
