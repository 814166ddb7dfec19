// The stage: the tools above, up to four linked maps, and the transport of each.

import type { Signal } from "@preact/signals";
import type { JSX } from "preact";
import { ERRORS, OF_MAPS, choice, choicesOf } from "./colors";
import { Button, Select } from "./controls";
import { Icon, type IconName } from "./icons";
import { count } from "./format";
import { Legend } from "./legend";
import { RunButton } from "./method";
import { Pins } from "./pins";
import { Plot, views } from "./plot";
import type { Mode } from "../scatter";
import * as state from "./state";
import { Transport } from "./transport";
import type { Dataset, MapInfo, Status } from "./types";

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
    </div>
  );
}

const MODES: readonly (readonly [Mode, string, IconName])[] = [
  ["move", "Move", "move"],
  ["lasso", "Select", "lasso"],
  ["pin", "Hold", "pin"],
  ["decode", "Decode", "wand"],
];

/** What can be shown on the maps, and for which data. */
const SHOWS: readonly (readonly [string, Signal<boolean>, ((data: Dataset) => boolean)?])[] = [
  ["Names", state.showNames],
  ["Regions", state.showRegions],
  ["Contours", state.showContours],
  ["Trust", state.showTrust],
  ["Images", state.showImages, (data) => data.images !== null],
  ["Align", state.align, () => state.shown.value.length > 1],
];

function Tools(): JSX.Element | null {
  const data = state.dataset.value;
  if (!data) return null;
  const { labels, columns } = choicesOf(data);
  const ofMaps = Object.entries(OF_MAPS).map(([name, { title }]): [string, string] => [name, title]);
  const errors = Object.entries(ERRORS)
    .filter(([kind]) => kind !== "changed" || state.shown.value.length > 1)
    .map(([kind, { title }]): [string, string] => [`error:${kind}`, title]);
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
          { group: "The map", options: [...ofMaps, ...errors] },
          { group: "Columns", options: columns },
          { group: "None", options: [["none", "One colour"]] },
        ]}
        onChange={(value) => (state.colorBy.value = value)}
      />
      <div class="shows" role="group" aria-label="What the maps show">
        {SHOWS.map(([label, on, when]) =>
          when && !when(data) ? null : (
            <Button
              key={label}
              kind="quiet"
              label={label}
              pressed={on.value}
              onClick={() => (on.value = !on.value)}
            />
          ),
        )}
      </div>
      <Button
        kind="quiet"
        icon="fit"
        label="Reset views"
        hideLabel
        onClick={() => views.forEach((view) => view.reset())}
      />
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
      <Pins map={map} />
      {map.status === "failed" ? <p class="failure">{map.error}</p> : <Transport map={map} />}
    </article>
  );
}

function Settings({ map }: { map: MapInfo }): JSX.Element {
  const text = state.settingsOf(map);
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
