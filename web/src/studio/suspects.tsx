// Outliers and probably mislabelled objects.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import * as api from "./api";
import { Empty, Section } from "./controls";
import { number } from "./format";
import { nameOf } from "./names";
import { pick } from "./picking";
import * as state from "./state";
import type { MapInfo, Suspect } from "./types";

const suspects = signal<ReadonlyMap<string, readonly Suspect[]>>(new Map());

export function SuspectsPanel(): JSX.Element {
  const data = state.dataset.value;
  const map = state.active.value;
  const found = data && suspects.value.get(data.id);
  useEffect(() => {
    if (!data || suspects.value.has(data.id)) return;
    void state.attempt(async () => {
      const list = await api.patiently(
        () =>
          api.values(`/api/datasets/${data.id}/suspects?limit=60`) as unknown as Promise<Suspect[] | null>,
      );
      if (list) suspects.value = new Map(suspects.value).set(data.id, list);
    });
  }, [data?.id]);
  if (!data) return <Empty icon="ask" title="No data yet" />;
  return (
    <Section title="Suspects">
      <p class="help">
        Outliers, and objects whose neighbours in the data carry another label. Ranked; click one to see it on
        the maps.
      </p>
      {!found && <p class="help">Looking at the neighbours …</p>}
      {found?.length === 0 && <p class="help">None found.</p>}
      <ul class="suspects">
        {found?.map((one) => (
          <li key={one.row}>
            <button
              type="button"
              aria-pressed={state.picked.value?.row === one.row}
              onClick={() => map && pickHere(map, one.row)}
            >
              {data.images && (
                <img src={`/api/datasets/${data.id}/images/${one.row}`} alt="" loading="lazy" />
              )}
              <span>
                <strong>
                  {nameOf(data.id, one.row)}
                  {one.label !== null &&
                    one.neighbours_label !== null &&
                    one.label !== one.neighbours_label &&
                    `: ${one.label}, or ${one.neighbours_label}?`}
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
  state.tab.value = "suspects";
}
