// The stage: the tools above, up to four linked maps, and the transport of each.

import type { JSX } from "preact";
import { ERRORS, choice, choicesOf } from "./colors";
import { LossCurve } from "./charts";
import { Button, Icon, Select, type IconName } from "./controls";
import { duration, count } from "./format";
import { RunButton } from "./method";
import { Plot, views } from "./plot";
import type { Mode } from "../scatter";
import * as state from "./state";
import type { MapInfo, Status } from "./types";

export function Stage(): JSX.Element {
  const maps = state.shownMaps.value;
  if (!maps.length) return <ReadyToRun />;
  return (
    <>
      <Tools />
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
          onClick={() => void state.removeMap(map.id)}
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

/** The parameters that differ from the defaults. */
function Settings({ map }: { map: MapInfo }): JSX.Element | null {
  const method = state.methods.value.find((one) => one.name === map.method);
  const changed = Object.entries(map.parameters).filter(
    ([name, value]) => method?.parameters.find((one) => one.name === name)?.default !== value,
  );
  if (!changed.length && map.rows === null) return null;
  const text = changed.map(([name, value]) => `${name} ${String(value)}`).join(", ");
  return (
    <small class="settings" title={text}>
      {map.rows !== null && `${count(map.rows)} selected objects${changed.length ? ", " : ""}`}
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

const SPEEDS = [
  ["25", "slow"],
  ["150", "normal"],
  ["null", "full speed"],
] as const;

function speed(map: MapInfo, text: string): void {
  state.pace.value = JSON.parse(text) as number | null;
  void state.tune(map, { pace: state.pace.value });
}

const PHASES: Record<string, string> = { start: "starting", neighbours: "finding neighbours" };

function lossesOf(map: MapInfo): [number, number][] {
  return map.losses.map((one, k): [number, number] => (Array.isArray(one) ? one : [k, one]));
}

function Transport({ map }: { map: MapInfo }): JSX.Element {
  const busy = map.status === "running" || map.status === "paused" || map.status === "queued";
  const rewound = state.rewindOf(map.id);
  const last = Math.max(map.frames - 1, 0);
  const go = (frame: number): void =>
    void state.attempt(() => state.rewind(map, frame >= last ? null : frame));
  const total = map.total ? ` / ${count(map.total)}` : "";
  const left =
    map.status === "running" && map.seconds_left !== null ? `, ${duration(map.seconds_left)} left` : "";
  return (
    <footer class="transport">
      {busy && (
        <div class="pair">
          {map.status === "running" ? (
            <Button icon="pause" label="Pause" hideLabel onClick={() => void state.command(map, "pause")} />
          ) : (
            <Button
              icon="play"
              label="Continue"
              hideLabel
              disabled={map.status === "queued"}
              onClick={() => void state.command(map, "continue")}
            />
          )}
          <Button
            icon="step"
            label="Single step"
            hideLabel
            disabled={map.status === "queued"}
            onClick={() => void state.command(map, "step")}
          />
          <Button icon="stop" label="Stop" hideLabel onClick={() => void state.command(map, "stop")} />
        </div>
      )}
      {busy && (
        <Select
          label="Speed"
          hideLabel
          value={String(map.pace ?? null)}
          options={SPEEDS}
          onChange={(text) => speed(map, text)}
        />
      )}
      {map.frames > 1 && (
        <label class="rewind">
          <span class="unseen">Rewind {state.titleOf(map)}</span>
          <input
            type="range"
            min={0}
            max={last}
            step={1}
            value={rewound.value && rewound.value.frame >= 0 ? rewound.value.frame : last}
            aria-valuetext={rewound.value ? `snapshot ${rewound.value.frame}` : "newest"}
            onInput={(event) => go(event.currentTarget.valueAsNumber)}
          />
        </label>
      )}
      <span class="progress" role="status">
        {rewound.value ? (
          rewound.value.frame === state.OTHER_SEED ? (
            "another seed"
          ) : (
            `iteration ${count(map.snapshots?.[rewound.value.frame] ?? rewound.value.frame)}`
          )
        ) : map.status === "queued" ? (
          "waiting for its turn"
        ) : map.phase && map.phase !== "fit" ? (
          (PHASES[map.phase] ?? map.phase)
        ) : (
          <>
            {map.iteration > 0 && `${count(map.iteration)}${total} iterations, `}
            {duration(map.seconds)}
            {left}
          </>
        )}
      </span>
      <LossCurve losses={lossesOf(map)} label={`Loss of ${state.titleOf(map)}`} />
    </footer>
  );
}
