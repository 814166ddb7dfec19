// What the colours mean, and categories to hide and show.

import type { JSX } from "preact";
import { css, valueColor } from "../scatter";
import { ERRORS, choice, errorKind, shading, shadingOf } from "./colors";
import { Button, Empty, Section } from "./controls";
import { count, number } from "./format";
import * as state from "./state";

export function Legend(): JSX.Element {
  const kind = errorKind();
  const found = shading.value;
  if (kind) return <ErrorLegend />;
  if (!found)
    return (
      <Empty icon="map" title="One colour">
        {choice.value === "none" ? "Choose above what colours the points." : "Loading the values …"}
      </Empty>
    );
  const title = choice.value.slice(7);
  if (found.kind === "number")
    return (
      <Section title={title}>
        <Scale low={found.low} high={found.high} />
      </Section>
    );
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
    <Section
      title={title}
      aside={
        hidden.size > 0 && (
          <Button kind="quiet" label="Show all" onClick={() => (state.hiddenKinds.value = new Set())} />
        )
      }
    >
      <ul class="legend">
        {found.names.map((name, code) => (
          <li key={name}>
            <button
              type="button"
              aria-pressed={!hidden.has(code)}
              title="Click hides or shows; shift and click shows this one only"
              onClick={(event) => toggle(code, event.shiftKey)}
            >
              <Dot color={found.shades[state.theme.value][code]} />
              <bdi>{name}</bdi>
              <small>{count(found.counts[code])}</small>
            </button>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Dot({ color }: { color: string }): JSX.Element {
  return (
    <svg class="dot" viewBox="0 0 10 10" aria-hidden="true">
      <circle cx="5" cy="5" r="5" fill={color} />
    </svg>
  );
}

function Scale({ low, high }: { low: number; high: number }): JSX.Element {
  const steps = 32;
  return (
    <div class="scale">
      <svg viewBox={`0 0 ${steps} 1`} preserveAspectRatio="none" aria-hidden="true">
        {Array.from({ length: steps }, (_, k) => (
          <rect
            key={k}
            x={k}
            y="0"
            width="1.05"
            height="1"
            fill={css(valueColor(k / (steps - 1), state.theme.value))}
          />
        ))}
      </svg>
      <span>{number(low)}</span>
      <span>{number(high)}</span>
    </div>
  );
}

function ErrorLegend(): JSX.Element | null {
  const kind = errorKind();
  if (!kind) return null;
  return (
    <Section title={ERRORS[kind].title}>
      <p class="help">{ERRORS[kind].note}</p>
      {state.shownMaps.value.map((map) => {
        const found = shadingOf(map);
        if (found?.kind !== "number")
          return (
            <p key={map.id} class="help">
              {state.titleOf(map)}: {state.computing(map) ? "after the run" : "computing …"}
            </p>
          );
        const mean =
          found.values.reduce((sum, value) => sum + (Number.isFinite(value) ? value : 0), 0) /
          found.values.length;
        return (
          <div key={map.id}>
            <h3>
              {state.titleOf(map)}: mean {number(mean)}
            </h3>
            <Scale low={found.low} high={found.high} />
          </div>
        );
      })}
    </Section>
  );
}
