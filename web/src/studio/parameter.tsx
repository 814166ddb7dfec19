// The field of one parameter of a method: switch, choice, slider or text.

import { useId } from "preact/hooks";
import type { JSX } from "preact";
import { Select, Slider, Switch } from "./controls";
import * as state from "./state";
import type { MapInfo, Method, Parameter, Value } from "./types";

interface FieldProps {
  method: Method;
  parameter: Parameter;
  value: Value | undefined;
  running: MapInfo | null;
}

let tuning = 0;

export function ParameterField({ method, parameter, value, running }: FieldProps): JSX.Element {
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
