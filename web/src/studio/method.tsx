// The form of a method, made from the server's catalog.

import type { JSX } from "preact";
import { Button, Section, Select } from "./controls";
import { ParameterField } from "./parameter";
import * as state from "./state";
import type { MapInfo, Method } from "./types";

export function MethodPanel(): JSX.Element | null {
  const method = state.method.value;
  const form = method && (state.forms.value.get(method.name) ?? {});
  if (!method || !form) return null;
  const basic = method.parameters.filter((one) => !one.advanced);
  const advanced = method.parameters.filter((one) => one.advanced);
  const running = tunable(method);
  return (
    <Section title="Method">
      <div class="stack">
        <Select
          label="Method"
          hideLabel
          value={method.name}
          options={groups(state.methods.value)}
          onChange={(name) => (state.methodName.value = name)}
        />
        <p class="help">{method.summary}</p>
        {basic.map((one) => (
          <ParameterField
            key={`${method.name}.${one.name}`}
            method={method}
            parameter={one}
            value={form[one.name]}
            running={running}
          />
        ))}
        {advanced.length > 0 && (
          <details>
            <summary>More parameters ({advanced.length})</summary>
            <div class="stack">
              {advanced.map((one) => (
                <ParameterField
                  key={`${method.name}.${one.name}`}
                  method={method}
                  parameter={one}
                  value={form[one.name]}
                  running={running}
                />
              ))}
            </div>
          </details>
        )}
        {Object.keys(form).length > 0 && (
          <Button
            kind="quiet"
            icon="reset"
            label="Defaults"
            onClick={() => (state.forms.value = new Map(state.forms.value).set(method.name, {}))}
          />
        )}
        <details>
          <summary>About {method.title}</summary>
          <dl>
            {ABOUT.map(([key, title]) => {
              const text = method[key];
              return text ? (
                <div key={key}>
                  <dt>{title}</dt>
                  <dd>{text}</dd>
                </div>
              ) : null;
            })}
          </dl>
          <p class="doc">{method.doc}</p>
        </details>
      </div>
    </Section>
  );
}

const ABOUT = [
  ["when", "When"],
  ["keeps", "Keeps"],
  ["cost", "Cost"],
  ["paper", "Papers"],
] as const;

const FAMILIES: Record<string, string> = {
  neighbour: "Neighbour embeddings",
  spectral: "Spectral methods",
  stress: "Distances and stress",
  learned: "Learned maps",
};

function groups(methods: readonly Method[]): { group: string; options: [string, string][] }[] {
  const families = new Map<string, [string, string][]>();
  for (const one of methods) {
    const family = families.get(one.family) ?? [];
    family.push([one.name, one.title]);
    families.set(one.family, family);
  }
  const order = Object.keys(FAMILIES);
  const place = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length);
  return [...families]
    .sort(([a], [b]) => place(a) - place(b))
    .map(([name, options]) => ({ group: FAMILIES[name] ?? name, options }));
}

/** The map that the form's live parameters change while it is computed. */
function tunable(method: Method): MapInfo | null {
  const map = state.active.value;
  return map && map.method === method.name && (map.status === "running" || map.status === "paused")
    ? map
    : null;
}

/** Starts the method of the form on the data set that is shown. */
export function RunButton({ large = false }: { large?: boolean }): JSX.Element | null {
  const [data, method] = [state.dataset.value, state.method.value];
  if (!data || !method) return null;
  const run = (): void => {
    const parameters = state.forms.value.get(method.name) ?? {};
    void state.embed({ dataset: data.id, method: method.name, parameters });
  };
  return (
    <div class={large ? "run large" : "run"}>
      <Button kind="primary" icon="play" label={`Run ${method.title}`} onClick={run} />
      {!large && state.shown.value.length > 0 && (
        <label class="check">
          <input
            type="checkbox"
            checked={state.compare.value}
            onChange={(event) => (state.compare.value = event.currentTarget.checked)}
          />
          <span>Compare: show it beside the others</span>
        </label>
      )}
    </div>
  );
}
