// What the colours mean, beside the maps; categories to hide and show.

import type { JSX } from "preact";
import { css, SCALES, valueColor } from "../scatter";
import {
  doubtsOf,
  ERRORS,
  OF_MAPS,
  choice,
  errorKind,
  shading,
  shadingOf,
  title,
  type Shading,
} from "./colors";
import { Button } from "./controls";
import { count, number } from "./format";
import { regionsOf } from "./regions";
import * as state from "./state";

export function Legend(): JSX.Element | null {
  const kind = errorKind();
  const found = shading.value;
  if (kind) return <ErrorLegend note={ERRORS[kind].note} />;
  if (choice.value === "none" && !state.showTrust.value && !state.showRegions.value) return null;
  if (choice.value === "none")
    return (
      <section class="legend" aria-label="Legend">
        <Notes />
      </section>
    );
  if (choice.value in OF_MAPS) return <MapLegend />;
  return (
    <section class="legend" aria-label="Legend">
      <h2>{title.value}</h2>
      {!found ? (
        <small>Loading the values …</small>
      ) : found.kind === "number" ? (
        <Strip found={found} />
      ) : (
        <Kinds found={found} />
      )}
      <Notes />
    </section>
  );
}

/** What else the maps show, or will show when it has been computed. */
function Notes(): JSX.Element {
  const maps = state.shownMaps.value.filter(state.ended);
  const waits = state.showRegions.value && maps.some((map) => !regionsOf(map));
  return (
    <>
      {waits && <small>Finding the regions …</small>}
      {state.showTrust.value && (
        <small>
          {maps.every(doubtsOf) ? "Faint: objects whose place is doubtful." : "Measuring the doubts …"}
        </small>
      )}
    </>
  );
}

/** The categories of the active map; those of other maps have other names. */
function MapLegend(): JSX.Element {
  const map = state.active.value;
  const found = map && shadingOf(map);
  return (
    <section class="legend" aria-label="Legend">
      <h2>
        {title.value}
        {map && state.shownMaps.value.length > 1 && ` of ${state.titleOf(map)}`}
      </h2>
      {found?.kind === "category" ? (
        <Kinds found={found} />
      ) : (
        <small>{map && state.ended(map) ? OF_MAPS[choice.value].finding : "after the run"}</small>
      )}
      <Notes />
    </section>
  );
}

function Kinds({ found }: { found: Extract<Shading, { kind: "category" }> }): JSX.Element {
  const hidden = state.hiddenKinds.value;
  const toggle = (code: number, alone: boolean): void => {
    const others = found.names.map((_, other) => other).filter((other) => other !== code);
    const next = new Set(hidden);
    if (alone)
      state.hiddenKinds.value = new Set(hidden.size === others.length && !hidden.has(code) ? [] : others);
    else {
      if (!next.delete(code)) next.add(code);
      state.hiddenKinds.value = next;
    }
  };
  return (
    <>
      <ul>
        {found.names.map((name, code) => (
          <li key={name}>
            <button
              type="button"
              aria-pressed={!hidden.has(code)}
              title="Click hides or shows; shift and click shows this one only"
              onClick={(event) => toggle(code, event.shiftKey)}
            >
              <Dot color={found.shades[code]} />
              <bdi>{name}</bdi>
              <small>{count(found.counts[code])}</small>
            </button>
          </li>
        ))}
      </ul>
      {hidden.size > 0 && (
        <Button kind="quiet" label="Show all" onClick={() => (state.hiddenKinds.value = new Set())} />
      )}
    </>
  );
}

function Dot({ color }: { color: string }): JSX.Element {
  return (
    <svg class="dot" viewBox="0 0 10 10" aria-hidden="true">
      <circle cx="5" cy="5" r="5" fill={color} />
    </svg>
  );
}

const STEPS = 32;

/** The colours of values from the least to the greatest, and the kind of scale where it is not linear. */
function Strip({ found: { scale, show } }: { found: Extract<Shading, { kind: "number" }> }): JSX.Element {
  return (
    <span class="scale">
      <span>{show(scale.low)}</span>
      <svg viewBox={`0 0 ${STEPS} 1`} preserveAspectRatio="none" aria-hidden="true">
        {Array.from({ length: STEPS }, (_, k) => (
          <rect
            key={k}
            x={k}
            y="0"
            width="1.05"
            height="1"
            fill={css(valueColor(k / (STEPS - 1), state.theme.value))}
          />
        ))}
      </svg>
      <span>{show(scale.high)}</span>
      {scale.how !== "linear" && (
        <small>
          {SCALES[scale.how]}, middle {show(scale.at(0.5))}
        </small>
      )}
    </span>
  );
}

function ErrorLegend({ note }: { note: string }): JSX.Element {
  const found = state.shownMaps.value.map((map) => [map, shadingOf(map)] as const);
  const first = found.find(([, one]) => one?.kind === "number")?.[1];
  return (
    <section class="legend" aria-label="Legend">
      <h2>{title.value}</h2>
      {first?.kind === "number" && <Strip found={first} />}
      {found.map(([map, one]) => (
        <small key={map.id}>
          {state.titleOf(map)}:{" "}
          {one?.kind === "number"
            ? `mean ${number(meanOf(one.values))}`
            : state.computing(map)
              ? "after the run"
              : "computing …"}
        </small>
      ))}
      <small>{note}</small>
    </section>
  );
}

function meanOf(values: Float32Array): number {
  let [sum, n] = [0, 0];
  for (const value of values) if (Number.isFinite(value)) [sum, n] = [sum + value, n + 1];
  return sum / n;
}
