// The page: bar, data and method on the left, maps in the middle, questions on the right.

import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { Button } from "./controls";
import { Icon, type IconName } from "./icons";
import { DataPanel } from "./data";
import { Lesson } from "./lesson";
import { Stage } from "./maps";
import { MethodPanel, RunButton } from "./method";
import { Questions } from "./questions";
import { Search } from "./search";
import { DropTarget } from "./sources";
import * as state from "./state";
import { connection } from "./stream";
import { TakeAway, openTakeAway } from "./takeaway";
import { Tooltip } from "./tooltip";
import { Welcome } from "./welcome";

type Pane = "data" | "method" | "maps" | "questions";

/** The part of the page that a narrow screen shows. */
const pane = signal<Pane>("maps");
const PANES: readonly (readonly [Pane, string, IconName])[] = [
  ["data", "Data", "data"],
  ["method", "Method", "sliders"],
  ["maps", "Map", "map"],
  ["questions", "Questions", "ask"],
];

effect(() => {
  document.documentElement.dataset.theme = state.theme.value;
});
effect(() => {
  if (state.activeId.value || state.datasetId.value) pane.value = "maps";
});

const phone = matchMedia("(max-width: 759px)");
const narrow = signal(phone.matches);
phone.addEventListener("change", () => (narrow.value = phone.matches));

/** The role of a side, which a narrow screen shows alone. */
const alone = (...panes: Pane[]): "main" | "complementary" =>
  narrow.value && panes.includes(pane.value) ? "main" : "complementary";

export function App(): JSX.Element {
  const empty = state.ready.value && !state.datasets.value.size && state.lessonStep.value === null;
  return (
    <div class="app" data-pane={pane.value} data-empty={empty}>
      <Bar />
      {!empty && (
        <div class="side left" aria-label="Data and method" role={alone("data", "method")}>
          <div class="scrolls">
            <div class="pane data">
              <DataPanel />
            </div>
            <div class="pane method">
              <MethodPanel />
            </div>
          </div>
          <RunButton />
        </div>
      )}
      <main class="stage">
        {!state.ready.value ? <Waiting /> : empty ? <Welcome /> : <Stage />}
        <Lesson />
      </main>
      {!empty && (
        <div class="side right" aria-label="Questions to the maps" role={alone("questions")}>
          <Questions />
        </div>
      )}
      {!empty && (
        <nav class="dock" aria-label="Parts of the page">
          {PANES.map(([name, label, icon]) => (
            <button
              key={name}
              type="button"
              aria-pressed={pane.value === name}
              onClick={() => (pane.value = name)}
            >
              <Icon name={icon} />
              {label}
            </button>
          ))}
        </nav>
      )}
      <Notices />
      <Tooltip />
      <TakeAway />
      <DropTarget />
    </div>
  );
}

const THEMES = {
  auto: ["light", "half", "Theme: as the system"],
  light: ["dark", "sun", "Theme: light"],
  dark: ["auto", "moon", "Theme: dark"],
} as const;

const CONNECTION = {
  connecting: "Connecting …",
  lost: "No connection to the server; trying again …",
  refused: "The server does not know this page: open the address that lowdim studio printed",
};

function Bar(): JSX.Element {
  const [next, icon, label] = THEMES[state.themeChoice.value];
  return (
    <header class="bar">
      <a class="brand" href="/" aria-label="lowdim studio">
        <img src="/static/icon.svg" alt="" />
        <h1>
          lowdim <b>studio</b>
        </h1>
      </a>
      <span class="space" />
      <Search />
      {connection.value !== "open" && (
        <span class="connection" role="status">
          {CONNECTION[connection.value]}
        </span>
      )}
      <Button
        kind="quiet"
        icon="book"
        label="Lesson"
        pressed={state.lessonStep.value !== null}
        onClick={() => (state.lessonStep.value = state.lessonStep.value === null ? 0 : null)}
      />
      {state.active.value && <Button kind="quiet" icon="download" label="Take away" onClick={openTakeAway} />}
      <Button
        kind="quiet"
        icon={icon}
        label={label}
        hideLabel
        onClick={() => (state.themeChoice.value = next)}
      />
    </header>
  );
}

function Waiting(): JSX.Element {
  return (
    <div class="ready">
      <p>{connection.value === "open" ? "Loading …" : CONNECTION[connection.value]}</p>
    </div>
  );
}

function Notices(): JSX.Element {
  return (
    <div class="notices" role="alert">
      {state.notices.value.map((one) => (
        <div key={one.key} class={one.bad ? "notice bad" : "notice"}>
          <span>{one.text}</span>
          {one.undo && <Button label="Undo" onClick={() => state.dismiss(one, true)} />}
          <Button kind="quiet" icon="close" label="Dismiss" hideLabel onClick={() => state.dismiss(one)} />
        </div>
      ))}
    </div>
  );
}
