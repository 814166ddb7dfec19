// Buttons, fields and icons that all panels share.

import { useId } from "preact/hooks";
import type { ComponentChildren, JSX, TargetedEvent } from "preact";
import { number } from "./format";
import { Icon, type IconName } from "./icons";

interface ButtonProps {
  icon?: IconName;
  label: string;
  hideLabel?: boolean;
  kind?: "primary" | "quiet" | "plain";
  pressed?: boolean;
  disabled?: boolean;
  onClick: () => void;
}

export function Button({
  icon,
  label,
  hideLabel = false,
  kind = "plain",
  pressed,
  disabled = false,
  onClick,
}: ButtonProps): JSX.Element {
  return (
    <button
      type="button"
      class={`button ${kind}${hideLabel ? " bare" : ""}`}
      aria-label={label}
      title={icon ? label : undefined}
      aria-pressed={pressed}
      disabled={disabled}
      onClick={onClick}
    >
      {icon && <Icon name={icon} />}
      {!hideLabel && <span>{label}</span>}
    </button>
  );
}

interface SliderProps {
  label: string;
  value: number;
  min: number;
  max: number;
  step: number | "any";
  log?: boolean;
  help?: string;
  badge?: string;
  onInput: (value: number) => void;
}

const NOTCHES = 200; // of a slider on a logarithmic scale

/** A slider with a field for the exact number. */
export function Slider({
  label,
  value,
  min,
  max,
  step,
  log = false,
  help,
  badge,
  onInput,
}: SliderProps): JSX.Element {
  const id = useId();
  const low = log ? Math.max(min, max * 1e-6) : min;
  const forward = (v: number): number =>
    log ? (NOTCHES * Math.log(Math.max(v, low) / low)) / Math.log(max / low) : v;
  const whole = typeof step === "number" && Number.isInteger(step);
  const back = (v: number): number => {
    if (!log) return v;
    const raw = low * Math.exp((v / NOTCHES) * Math.log(max / low));
    return whole ? Math.round(raw) : Number(raw.toPrecision(3));
  };
  const change = (event: TargetedEvent<HTMLInputElement>, scale: (v: number) => number): void => {
    const given = event.currentTarget.valueAsNumber;
    if (Number.isFinite(given)) onInput(scale(given));
  };
  return (
    <div class="field slider">
      <label for={id}>
        <span>{breakable(label)}</span>
        {badge && <small class="badge">{badge}</small>}
      </label>
      <input
        type="number"
        aria-label={`${label}, number`}
        min={min}
        step={whole ? step : "any"}
        value={value}
        onChange={(event) => change(event, (v) => v)}
      />
      <input
        id={id}
        type="range"
        min={log ? 0 : min}
        max={log ? NOTCHES : max}
        step={log ? 1 : step}
        value={forward(value)}
        aria-valuetext={number(value)}
        onInput={(event) => change(event, back)}
      />
      {help && <p class="help">{help}</p>}
    </div>
  );
}

/** A name that can break after its underscores, and nowhere else. */
export const breakable = (label: string): (string | JSX.Element)[] =>
  label.split(/(?<=_)/).flatMap((part, k) => (k ? [<wbr key={k} />, part] : [part]));

export function Switch({
  label,
  value,
  help,
  onChange,
}: {
  label: string;
  value: boolean;
  help?: string;
  onChange: (value: boolean) => void;
}): JSX.Element {
  return (
    <div class="field">
      <label class="switch">
        <span>{breakable(label)}</span>
        <input
          type="checkbox"
          role="switch"
          checked={value}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      </label>
      {help && <p class="help">{help}</p>}
    </div>
  );
}

interface SelectProps {
  label: string;
  value: string;
  options:
    | readonly (readonly [string, string])[]
    | readonly { group: string; options: readonly (readonly [string, string])[] }[];
  hideLabel?: boolean;
  help?: string;
  onChange: (value: string) => void;
}

export function Select({
  label,
  value,
  options,
  hideLabel = false,
  help,
  onChange,
}: SelectProps): JSX.Element {
  const id = useId();
  const item = ([key, title]: readonly [string, string]): JSX.Element => (
    <option key={key} value={key} selected={key === value}>
      {title}
    </option>
  );
  return (
    <div class={hideLabel ? "choice" : "field choice"}>
      <label for={id} class={hideLabel ? "unseen" : undefined}>
        {label}
      </label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((one) =>
          "group" in one
            ? one.options.length > 0 && (
                <optgroup key={one.group} label={one.group}>
                  {one.options.map(item)}
                </optgroup>
              )
            : item(one),
        )}
      </select>
      {help && <p class="help">{help}</p>}
    </div>
  );
}

export function Section({
  title,
  children,
  aside,
}: {
  title: string;
  children: ComponentChildren;
  aside?: ComponentChildren;
}): JSX.Element {
  return (
    <section class="section">
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

export function Empty({
  icon,
  title,
  children,
}: {
  icon: IconName;
  title: string;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class="empty">
      <Icon name={icon} />
      <strong>{title}</strong>
      {children && <p>{children}</p>}
    </div>
  );
}
