// The form of a method, made from the server's catalog.

import { useId } from "preact/hooks";
import type { JSX } from "preact";
import { Button, Section, Select, Slider, Switch } from "./controls";
import * as state from "./state";
import type { MapInfo, Method, Parameter, Value } from "./types";

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

interface FieldProps {
  method: Method;
  parameter: Parameter;
  value: Value | undefined;
  running: MapInfo | null;
}

let tuning = 0;

function ParameterField({ method, parameter, value, running }: FieldProps): JSX.Element {
  const { name, kind, choices, min, max } = parameter;
  const live = running?.live.includes(name) ?? false;
  const shown = value ?? (live ? running?.parameters[name] : undefined) ?? parameter.default;
  const set = (given: Value | undefined): void => {
    state.setParameter(method.name, name, given === parameter.default ? undefined : given);
    if (!live || !running || given === undefined || given === null) return;
    clearTimeout(tuning);
    tuning = window.setTimeout(() => void state.tune(running, { parameters: { [name]: given } }), 120);
  };
  const help = parameter.help;
  const badge = live ? { badge: "live" } : {};
  if (kind === "bool") return <Switch label={name} value={Boolean(shown)} help={help} onChange={set} />;
  if (kind === "choice" && choices) {
    const options = choices.map((one, k): [string, string] => [String(k), one ?? "none"]);
    return (
      <Select
        label={name}
        value={String(choices.indexOf(shown as string | null))}
        help={help}
        options={options}
        onChange={(k) => set(choices[Number(k)])}
      />
    );
  }
  if (kind === "text" || min === undefined || max === undefined)
    return (
      <TextField
        label={name}
        numeric={kind !== "text"}
        value={shown}
        fallback={parameter.default}
        help={help}
        onChange={set}
      />
    );
  const step = kind === "int" ? 1 : Number(((max - min) / 200).toPrecision(1));
  const slider = (value: number): JSX.Element => (
    <Slider
      label={name}
      value={value}
      min={min}
      max={max}
      step={step}
      log={parameter.log ?? false}
      help={help}
      {...badge}
      onInput={set}
    />
  );
  const special = parameter.special ?? [];
  const middle = parameter.log ? Math.sqrt(Math.max(min, 1e-6) * max) : (min + max) / 2;
  const named = (one: string | null): string => one ?? "automatic";
  if (typeof shown === "number")
    return (
      <div>
        {slider(shown)}
        {special.map((one) => (
          <button key={one} type="button" class="link" onClick={() => set(one)}>
            use {named(one)}
          </button>
        ))}
      </div>
    );
  const options = [
    ...special.map((one, k): [string, string] => [String(k), named(one)]),
    ["number", "a number"] as [string, string],
  ];
  const choose = (key: string): void =>
    set(
      key === "number"
        ? Number(kind === "int" ? Math.round(middle) : middle.toPrecision(2))
        : special[Number(key)],
    );
  return (
    <Select
      label={name}
      value={String(special.indexOf(shown as string | null))}
      options={options}
      help={help}
      onChange={choose}
    />
  );
}

interface TextProps {
  label: string;
  numeric: boolean;
  value: Value;
  fallback: Value;
  help: string;
  onChange: (value: Value | undefined) => void;
}

/** A field for text, or for a number that may be left empty. */
function TextField({ label, numeric, value, fallback, help, onChange }: TextProps): JSX.Element {
  const id = useId();
  const read = (text: string): Value | undefined => {
    if (text.trim() === "") return undefined;
    return numeric && Number.isFinite(Number(text)) ? Number(text) : text.trim();
  };
  return (
    <div class="field">
      <label for={id}>
        <span>{label}</span>
      </label>
      <input
        id={id}
        type="text"
        inputMode={numeric ? "decimal" : "text"}
        value={value === null ? "" : String(value)}
        placeholder={fallback === null ? "automatic" : String(fallback)}
        onChange={(event) => onChange(read(event.currentTarget.value))}
      />
      {help && <p class="help">{help}</p>}
    </div>
  );
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
