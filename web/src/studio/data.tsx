// The data: the columns and their roles.

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { JSX } from "preact";
import { Histogram } from "./charts";
import { Button, Section, Select, Switch } from "./controls";
import { count, date, number, plural } from "./format";
import { Sources } from "./sources";
import * as state from "./state";
import type { Column, Dataset, Role } from "./types";

export function DataPanel(): JSX.Element {
  const data = state.dataset.value;
  const adding = useSignal(false);
  return (
    <Section
      title="Data"
      aside={
        data && (
          <Button
            kind="quiet"
            icon={adding.value ? "close" : "upload"}
            label={adding.value ? "Close" : "Open"}
            onClick={() => (adding.value = !adding.value)}
          />
        )
      }
    >
      {(!data || adding.value) && <Sources done={() => (adding.value = false)} />}
      {data && !adding.value && <DatasetCard data={data} />}
    </Section>
  );
}

/** Maps of this data set that are not on the screen. */
function Earlier(): JSX.Element | null {
  const hidden = [...state.maps.value.values()].filter(
    (map) => map.dataset === state.datasetId.value && !state.shown.value.includes(map.id),
  );
  if (!hidden.length) return null;
  return (
    <Select
      label="Show an earlier map"
      hideLabel
      value=""
      options={[
        ["", "Earlier maps …"],
        ...hidden
          .reverse()
          .map((map): [string, string] => [
            map.id,
            `${state.titleOf(map)} (${map.status}): ${state.settingsOf(map)}`,
          ]),
      ]}
      onChange={(id) => id && state.showMap(id, true)}
    />
  );
}

function DatasetCard({ data }: { data: Dataset }): JSX.Element {
  const others = [...state.datasets.value.values()];
  return (
    <div class="stack">
      <div class="row">
        {others.length > 1 ? (
          <Select
            label="Data set"
            hideLabel
            value={data.id}
            options={others.map((one): [string, string] => [one.id, one.name])}
            onChange={state.showDataset}
          />
        ) : (
          <strong class="name">{data.name}</strong>
        )}
        <span class="space" />
        <Button
          kind="quiet"
          icon="trash"
          label={`Remove ${data.name}`}
          hideLabel
          onClick={() =>
            confirm(`Remove ${data.name} and all its maps?`) && void state.remove("datasets", data.id)
          }
        />
      </div>
      <p class="facts">
        {plural(data.n, "object")} · {data.d === null ? "distances" : plural(data.d, "feature")}
        {data.images && ` · images ${data.images.shape.slice(0, 2).join(" × ")}`}
      </p>
      <Earlier />
      {data.d !== null && (
        <Switch
          label="Standardise features"
          value={data.standardize}
          onChange={(standardize) => void state.changeDataset(data.id, { standardize })}
        />
      )}
      {typeof data.counts === "boolean" && (
        <Switch
          label="Normalise counts"
          value={data.counts}
          onChange={(counts) => void state.changeDataset(data.id, { counts })}
        />
      )}
      {Boolean(data.hints?.length) && (
        <ul class="warnings" aria-label="Hints">
          {data.hints?.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      {data.columns.some((column) => column.missing > 0 && column.role === "feature") && (
        <Select
          label="Missing values"
          value={data.missing ?? "mean"}
          options={MISSING}
          onChange={(missing) => void state.changeDataset(data.id, { missing })}
        />
      )}
      <details>
        <summary>Columns ({count(data.columns.length + (data.more ?? 0))})</summary>
        <ul class="columns">
          {data.columns.map((column) => (
            <ColumnRow key={column.name} data={data} column={column} />
          ))}
        </ul>
        {data.d !== null && <ImageShape data={data} />}
        {data.d !== null && (
          <Switch
            label="Objects are the columns"
            value={data.transpose ?? false}
            onChange={(transpose) => void state.changeDataset(data.id, { transpose })}
          />
        )}
        {data.notes?.map((note) => (
          <p key={note} class="help">
            {note}
          </p>
        ))}
        {Boolean(data.more) && <p class="help">And {count(data.more ?? 0)} more, all used as features.</p>}
      </details>
    </div>
  );
}

const MISSING = [
  ["mean", "Replace by the mean"],
  ["drop", "Leave such objects out"],
  ["error", "Refuse to run"],
] as const;

/** Height and width, if the features are the pixels of images. */
function ImageShape({ data }: { data: Dataset }): JSX.Element {
  const id = useId();
  const change = (text: string): void => {
    const sides = text.match(/\d+/g)?.map(Number) ?? [];
    void state.changeDataset(data.id, { images: sides.length > 1 ? { shape: sides } : null });
  };
  return (
    <div class="field">
      <label for={id}>The features are pixels of images</label>
      <input
        id={id}
        type="text"
        placeholder="height × width, or empty"
        value={data.images?.shape.join(" × ") ?? ""}
        onChange={(event) => change(event.currentTarget.value)}
      />
    </div>
  );
}

const ROLES: readonly (readonly [Role, string])[] = [
  ["feature", "Feature"],
  ["label", "Label"],
  ["id", "Name"],
  ["ignore", "Ignored"],
];

function ColumnRow({ data, column }: { data: Dataset; column: Column }): JSX.Element {
  const show = column.kind === "date" ? (value: number): string => date(value, column) : number;
  const range =
    column.low !== undefined && column.high !== undefined
      ? `${show(column.low)} to ${show(column.high)}`
      : plural(column.distinct, "value");
  const missing = column.missing ? `, ${count(column.missing)} missing` : "";
  const bars = column.histogram ?? column.top?.map(([, times]) => times);
  const further: (readonly [Role, string])[] =
    column.role === "image"
      ? [["image", "Image"]]
      : ["text", "category"].includes(column.kind)
        ? [["text", "Text"]]
        : [];
  const roles = [...ROLES, ...further];
  return (
    <li>
      <div>
        <bdi>{column.name}</bdi>
        <small>
          {range}
          {missing}
        </small>
      </div>
      {bars && bars.length > 0 && <Histogram counts={bars} label={`Histogram of ${column.name}, ${range}`} />}
      <Select
        label={`Role of ${column.name}`}
        hideLabel
        value={column.role}
        options={roles}
        onChange={(role) => void state.changeDataset(data.id, { roles: { [column.name]: role } })}
      />
    </li>
  );
}
