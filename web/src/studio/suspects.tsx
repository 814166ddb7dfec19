// Outliers and probably mislabelled objects.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import * as api from "./api";
import { Button, Empty, Section } from "./controls";
import { count, number } from "./format";
import { nameOf } from "./names";
import { pick } from "./picking";
import * as state from "./state";
import type { Dataset, MapInfo, Suspect, Suspects } from "./types";

const suspects = signal<ReadonlyMap<string, Suspects>>(new Map());

export function SuspectsPanel(): JSX.Element {
  const data = state.dataset.value;
  const map = state.active.value;
  const key = data ? keyOf(data) : "";
  const found = suspects.value.get(key);
  useEffect(() => {
    if (!data || suspects.value.has(key)) return;
    void state.attempt(async () => {
      const list = await api.get<Suspects>(`/api/datasets/${data.id}/suspects?limit=60`);
      suspects.value = new Map(suspects.value).set(key, list);
    });
  }, [key]);
  if (!data) return <Empty icon="ask" title="No data yet" />;
  return (
    <Section
      title="Suspects"
      aside={found && <Button kind="quiet" icon="download" label="CSV" onClick={() => save(data, found)} />}
    >
      <p class="help">
        {data.label === null
          ? "Outliers. Objects that may be mislabelled are listed too if a column has the role Label. "
          : "Outliers, and objects whose neighbours in the data carry another label. "}
        Ranked; click one to see it on the maps.
        {found?.sample && ` Sought among a random sample of ${count(found.sample)} objects.`}
      </p>
      {!found && <p class="help">Looking at the neighbours …</p>}
      {found?.objects.length === 0 && <p class="help">None found.</p>}
      <ul class="suspects">
        {found?.objects.map((one) => (
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
                  {one.neighbours_label !== null
                    ? `: ${one.label}, or ${one.neighbours_label}?`
                    : ": an outlier?"}
                </strong>
                <small>{one.why}</small>
              </span>
              <small>{number(one.score)}</small>
            </button>
            <Verdict data={data} one={one} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** The suspects as a file, with what the reader says of them. */
function save(data: Dataset, { objects }: Suspects): void {
  const quoted = (cell: unknown): string => `"${String(cell ?? "").replaceAll('"', '""')}"`;
  const rows = objects.map((one) => [
    nameOf(data.id, one.row),
    one.label,
    one.neighbours_label,
    one.score,
    one.why,
    data.annotations[one.row],
  ]);
  const head = ["object", "label", "label of the neighbours", "score", "why", "annotation"];
  const text = [head, ...rows].map((row) => row.map(quoted).join(",")).join("\n");
  api.download(new Blob([`${text}\n`], { type: "text/csv" }), "suspects.csv");
}

/** What the suspects of a data set depend on. */
const keyOf = (data: Dataset): string =>
  [
    data.id,
    data.label,
    data.standardize,
    data.counts,
    data.missing,
    ...data.columns.map(({ role }) => role),
  ].join();

/** What the reader says of a suspect: its label, that of its neighbours or "outlier" is its annotation. */
function Verdict({ data, one }: { data: Dataset; one: Suspect }): JSX.Element | null {
  const written = data.annotations[one.row];
  const labels = [one.neighbours_label ?? "outlier", one.label].filter((label) => label !== null);
  return (
    <div class="chips" role="group" aria-label={`What ${nameOf(data.id, one.row)} is`}>
      {labels.map((label) => (
        <button
          key={label}
          type="button"
          aria-pressed={written === label}
          onClick={() => void state.annotate(data.id, [one.row], written === label ? "" : label)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

/** Picks an object without leaving the list. */
function pickHere(map: MapInfo, row: number): void {
  pick(map, row);
  state.tab.value = "suspects";
}
