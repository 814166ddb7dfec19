// How true the maps are, what not to read from them, and what other seeds change.

import { signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import * as api from "./api";
import { RnxChart, Shepard } from "./charts";
import { otherOf } from "./colors";
import { Button, Empty, Section } from "./controls";
import { count } from "./format";
import { ended } from "./signals";
import * as state from "./state";
import type { Changes, MapInfo, Quality } from "./types";

const qualities = signal<ReadonlyMap<string, Quality>>(new Map());
const pending = new Set<string>();
const keyOf = (map: MapInfo): string => `${map.id}/${map.iteration}`;

function ask(map: MapInfo): void {
  const key = keyOf(map);
  if (!ended(map) || qualities.value.has(key) || pending.has(key)) return;
  pending.add(key);
  void state
    .attempt(async () => {
      const found = await api.patiently(
        () => api.values(`/api/maps/${map.id}/quality`) as Promise<Quality | null>,
      );
      if (found) qualities.value = new Map(qualities.value).set(key, found);
    })
    .finally(() => pending.delete(key));
}

const FEW = 7; // measures that are listed at first

export function QualityPanel(): JSX.Element {
  const all = useSignal(false);
  const maps = state.shownMaps.value;
  useEffect(() => maps.forEach(ask), [maps.map(keyOf).join(), maps.map((map) => map.status).join()]);
  const known = maps.map((map) => ({ map, found: qualities.value.get(keyOf(map)) }));
  const measures = new Map(known.flatMap(({ found }) => found?.measures ?? []).map((one) => [one.name, one]));
  const value = (found: Quality | undefined, name: string): string => {
    const one = found?.measures.find((measure) => measure.name === name);
    return one ? one.value.toFixed(3) : found ? "–" : "…";
  };
  const byData = new Map<string, typeof known>();
  known.forEach((one) => byData.set(one.map.data_key, [...(byData.get(one.map.data_key) ?? []), one]));
  const groups = [...byData];
  const ordered = groups.flatMap(([, members]) => members);
  const active = known.find(({ map }) => map.id === state.activeId.value) ?? known[0];
  if (!maps.length)
    return (
      <Empty icon="ask" title="No map yet">
        Run a method, then ask how true its map is.
      </Empty>
    );
  const curves = known.flatMap(({ map, found }) =>
    found?.r_nx ? [{ name: state.titleOf(map), points: found.r_nx }] : [],
  );
  return (
    <>
      <Section title="How true are the maps?">
        {measures.size > 0 && (
          <div class="scroll">
            <table>
              <thead>
                {groups.length > 1 && (
                  <tr>
                    <td />
                    {groups.map(([key, members]) => (
                      <th key={key} scope="colgroup" colSpan={members.length}>
                        {madeOf(members[0].map)}
                      </th>
                    ))}
                  </tr>
                )}
                <tr>
                  <th scope="col">measure</th>
                  {ordered.map(({ map }) => (
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
                    {ordered.map(({ map, found }) => (
                      <td key={map.id}>{value(found, one.name)}</td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        {measures.size > FEW && (
          <Button
            kind="quiet"
            label={all.value ? "Fewer measures" : `All ${measures.size} measures`}
            onClick={() => (all.value = !all.value)}
          />
        )}
        {groups.length > 1 && (
          <p class="warning">
            These maps are of different data. Each is measured against its own: compare only numbers under the
            same heading.
          </p>
        )}
        {active?.found?.verdict && (
          <p>
            {state.titleOf(active.map)} of {madeOf(active.map)}: {active.found.verdict}
          </p>
        )}
        {active?.map.hints.map((note) => (
          <p key={note} class="warning">
            About the data: {note}.
          </p>
        ))}
        {known.some(({ found }) => !found) && (
          <p class="help">
            {known.every(({ map }) => ended(map)) ? "Measuring …" : "Measured when the run has ended."}
          </p>
        )}
        {active?.found?.sample && <p class="help">Measured on {count(active.found.sample)} objects.</p>}
      </Section>
      {active && <Warnings map={active.map} found={active.found} />}
      {active && <ChangesSection map={active.map} />}
      {curves.length > 0 && (
        <Section title="Neighbourhoods of every size">
          <p class="help">
            R_NX(K): how much of the K nearest neighbours a map keeps; 1 is all, 0 is chance.
          </p>
          <RnxChart curves={curves} />
        </Section>
      )}
      {active?.found?.shepard && (
        <Section title={`Distances, ${state.titleOf(active.map)}`}>
          <Shepard pairs={active.found.shepard} name={state.titleOf(active.map)} />
        </Section>
      )}
      {active && ended(active.map) && <Stability key={active.map.id} map={active.map} />}
    </>
  );
}

/** The data of a map in words. */
const madeOf = (map: MapInfo): string =>
  `${map.rows === null ? "" : `${count(map.rows)} selected objects, `}${map.made_of || "these data"}`;

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

const changes = signal<ReadonlyMap<string, Changes>>(new Map());

/** Which neighbours objects keep from a map to the other one on the screen. */
function ChangesSection({ map }: { map: MapInfo }): JSX.Element | null {
  const other = otherOf(map);
  const key = other && state.settled(map) ? `${keyOf(map)}/${keyOf(other)}` : "";
  const found = changes.value.get(key);
  useEffect(() => {
    if (!key || !other || found) return;
    void state.attempt(async () => {
      const answer = await api.get<Changes>(`/api/maps/${map.id}/changes?other=${other.id}`);
      changes.value = new Map(changes.value).set(key, answer);
    });
  }, [key]);
  if (!other || !found) return null;
  const regions = found.regions.length > 1 ? found.regions : [];
  return (
    <Section title={`From ${state.titleOf(map)} to ${state.titleOf(other)}`}>
      <p>
        {percent(found.kept)} of an object's {found.n_neighbors} nearest on {state.titleOf(map)} are among its{" "}
        {found.n_neighbors} nearest on {state.titleOf(other)}; {percent(found.expected)} by chance.
      </p>
      <Button label="Show changed neighbours" onClick={() => (state.colorBy.value = "error:changed")} />
      {regions.length > 0 && (
        <table>
          <thead>
            <tr>
              <th scope="col">region</th>
              <th scope="col">kept</th>
              <th scope="col">most new ones from</th>
            </tr>
          </thead>
          <tbody>
            {regions.map((one) => (
              <tr key={one.region}>
                <th scope="row">
                  <bdi>{one.name}</bdi>
                </th>
                <td>{one.kept === null ? "–" : percent(one.kept)}</td>
                <td>
                  <bdi>{one.mixed_with ?? "itself"}</bdi>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}

const percent = (share: number): string => `${Math.round(100 * share)} %`;

/** Runs with other seeds: what stays in place can be believed more. */
function Stability({ map }: { map: MapInfo }): JSX.Element {
  const found = useSignal<{ text: string; runs: number } | null>(null);
  const busy = useSignal(false);
  const run = async (): Promise<void> => {
    busy.value = true;
    const ask = (): Promise<unknown> => api.values(`/api/maps/${map.id}/stability`);
    found.value = await state.attempt(() =>
      api.patiently(ask as () => Promise<{ text: string; runs: number } | null>),
    );
    busy.value = false;
    if (found.value) state.colorBy.value = "error:spread";
  };
  return (
    <Section title="What is stable?">
      <p class="help">
        Runs {state.titleOf(map)} again with other seeds and colours each object by how far it moves between
        the runs.
      </p>
      <Button
        icon="reset"
        label={busy.value ? "Running …" : "Run again with other seeds"}
        disabled={busy.value}
        onClick={() => void run()}
      />
      {found.value && (
        <>
          <p>{found.value.text}</p>
          <div class="chips" role="group" aria-label="Show the map of another seed">
            {Array.from({ length: found.value.runs }, (_, place) => (
              <button key={place} type="button" onClick={() => state.showSeed(map, place)}>
                seed {place + 1}
              </button>
            ))}
            <button type="button" onClick={() => state.showNewest(map)}>
              this map
            </button>
          </div>
        </>
      )}
    </Section>
  );
}
