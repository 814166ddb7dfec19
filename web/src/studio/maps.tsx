// The stage: the tools above, up to four linked maps, and the transport of each.

import type { JSX } from "preact";
import { ERRORS, choice, choicesOf } from "./colors";
import { Button, Select } from "./controls";
import { Icon, type IconName } from "./icons";
import { count } from "./format";
import { Legend } from "./legend";
import { RunButton } from "./method";
import { Plot, views } from "./plot";
import type { Mode } from "../scatter";
import * as state from "./state";
import { Transport } from "./transport";
import type { MapInfo, Status } from "./types";

export function Stage(): JSX.Element {
  const maps = state.shownMaps.value;
  if (!maps.length) return <ReadyToRun />;
  return (
    <>
      <Tools />
      <Legend />
      <div class="maps" data-count={maps.length}>
        {maps.map((map) => (
          <MapCard key={map.id} map={map} />
        ))}
      </div>
    </>
  );
}

const QUICK = ["TSNE", "UMAP", "PCA", "Isomap", "MDS", "LaplacianEigenmaps"];

function ReadyToRun(): JSX.Element {
  const data = state.dataset.value;
  const known = new Map(state.methods.value.map((one) => [one.name, one.title]));
  return (
    <div class="ready">
      <Icon name="map" />
      <h1>
        <bdi>{data?.name}</bdi>
      </h1>
      <p>
        {count(data?.n ?? 0)} objects{" "}
        {data?.d === null ? "with their distances" : `with ${count(data?.d ?? 0)} features`} are ready.
      </p>
      <RunButton large />
      <div class="chips" role="group" aria-label="Choose a method">
        {QUICK.filter((name) => known.has(name)).map((name) => (
          <button
            key={name}
            type="button"
            aria-pressed={state.methodName.value === name}
            onClick={() => (state.methodName.value = name)}
          >
            {known.get(name)}
          </button>
        ))}
      </div>
      <Earlier />
    </div>
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
        ...hidden.reverse().map((map): [string, string] => [map.id, `${state.titleOf(map)} (${map.status})`]),
      ]}
      onChange={(id) => id && state.showMap(id, true)}
    />
  );
}

const MODES: readonly (readonly [Mode, string, IconName])[] = [
  ["move", "Move", "move"],
  ["lasso", "Select", "lasso"],
  ["decode", "Decode", "wand"],
];

function Tools(): JSX.Element | null {
  const data = state.dataset.value;
  if (!data) return null;
  const { labels, columns } = choicesOf(data);
  const errors = Object.entries(ERRORS).map(([kind, { title }]): [string, string] => [
    `error:${kind}`,
    title,
  ]);
  return (
    <div class="tools" role="toolbar" aria-label="Maps">
      <div class="pair" role="group" aria-label="What dragging does">
        {MODES.map(([name, label, icon]) => (
          <Button
            key={name}
            icon={icon}
            label={label}
            pressed={state.mode.value === name}
            onClick={() => (state.mode.value = name)}
          />
        ))}
      </div>
      <Select
        label="Colour by"
        value={choice.value}
        options={[
          { group: "Labels", options: labels },
          { group: "Errors of the map", options: errors },
          { group: "Columns", options: columns },
          { group: "None", options: [["none", "One colour"]] },
        ]}
        onChange={(value) => (state.colorBy.value = value)}
      />
      <Button
        kind="quiet"
        label="Names"
        pressed={state.showNames.value}
        onClick={() => (state.showNames.value = !state.showNames.value)}
      />
      <Button
        kind="quiet"
        label="Regions"
        pressed={state.showRegions.value}
        onClick={() => (state.showRegions.value = !state.showRegions.value)}
      />
      <Button
        kind="quiet"
        label="Contours"
        pressed={state.showContours.value}
        onClick={() => (state.showContours.value = !state.showContours.value)}
      />
      {state.shown.value.length > 1 && (
        <Button
          kind="quiet"
          label="Align"
          pressed={state.align.value}
          onClick={() => (state.align.value = !state.align.value)}
        />
      )}
      <Button
        kind="quiet"
        icon="fit"
        label="Reset views"
        hideLabel
        onClick={() => views.forEach((view) => view.reset())}
      />
      <span class="space" />
      <Earlier />
    </div>
  );
}

const STATUS: Record<Status, string> = {
  queued: "waiting",
  running: "running",
  paused: "paused",
  done: "done",
  stopped: "stopped",
  failed: "failed",
};

function MapCard({ map }: { map: MapInfo }): JSX.Element {
  const active = state.activeId.value === map.id;
  const many = state.shown.value.length > 1;
  return (
    <article
      class="map"
      data-active={active && many}
      data-status={map.status}
      aria-label={`Map by ${state.titleOf(map)}`}
      onPointerDown={() => (state.activeId.value = map.id)}
    >
      <header>
        <h2>
          <bdi>{state.titleOf(map)}</bdi>
        </h2>
        <span class={`status ${map.status}`}>{STATUS[map.status]}</span>
        <Settings map={map} />
        <span class="space" />
        {many && <Morph map={map} />}
        <Button
          kind="quiet"
          icon="trash"
          label={`Delete the map ${state.titleOf(map)}`}
          hideLabel
          onClick={() => state.discard(map)}
        />
        {many && (
          <Button
            kind="quiet"
            icon="close"
            label={`Take ${state.titleOf(map)} from the screen`}
            hideLabel
            onClick={() => state.hideMap(map.id)}
          />
        )}
      </header>
      <Plot map={map} />
      {map.status === "failed" ? <p class="failure">{map.error}</p> : <Transport map={map} />}
    </article>
  );
}

/** What the map was made of, and the parameters that differ from the defaults. */
function Settings({ map }: { map: MapInfo }): JSX.Element {
  const method = state.methods.value.find((one) => one.name === map.method);
  const changed = Object.entries(map.parameters).filter(
    ([name, value]) => method?.parameters.find((one) => one.name === name)?.default !== value,
  );
  const made = map.rows === null ? map.made_of : `${count(map.rows)} selected objects, ${map.made_of}`;
  const text = [made, ...changed.map(([name, value]) => `${name} ${String(value)}`)]
    .filter(Boolean)
    .join(", ");
  return (
    <small class="settings" title={text}>
      {text}
    </small>
  );
}

/** Turns a map into another one that is shown, and back. */
function Morph({ map }: { map: MapInfo }): JSX.Element | null {
  const into = state.morphOf(map.id);
  const others = state.shownMaps.value.filter(
    (one) =>
      one.id !== map.id &&
      one.n === map.n &&
      one.dim === map.dim &&
      one.dataset === map.dataset &&
      one.rows === null &&
      map.rows === null,
  );
  if (!others.length) return null;
  const options: [string, string][] = [
    ["", "Morph into …"],
    ...others.map((one): [string, string] => [one.id, state.titleOf(one)]),
  ];
  return (
    <span class="morph" data-on={into.value !== null}>
      <Select
        label={`Morph ${state.titleOf(map)} into`}
        hideLabel
        value={into.value ?? ""}
        options={options}
        onChange={(id) => (into.value = id || null)}
      />
    </span>
  );
}
