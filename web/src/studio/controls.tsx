// Buttons, fields and icons that all panels share.

import { useId } from "preact/hooks";
import type { ComponentChildren, JSX, TargetedEvent } from "preact";
import { number } from "./format";

const PATHS = {
  play: "M8 5v14l11-7z",
  pause: "M6 5h4v14H6zM14 5h4v14h-4z",
  step: "M6 5v14l9-7zM16 5h3v14h-3z",
  stop: "M6 6h12v12H6z",
  close: "M6.4 5 5 6.4 10.6 12 5 17.6 6.4 19 12 13.4 17.6 19 19 17.6 13.4 12 19 6.4 17.6 5 12 10.6z",
  move: "M12 2 8.5 5.5h2.5V11H5.5V8.500L2 12l3.500 3.500V13H11v5.500H8.500L12 22l3.500-3.500H13V13h5.500v2.500L22 12l-3.500-3.500V11H13V5.500h2.500z",
  lasso: "M12 4c-5 0-9 2.700-9 6 0 2 1.500 3.800 3.800 4.900-.2.400-.3.700-.3 1.100 0 1.300 1 2.300 2.200 2.500-.1.900-.7 1.800-2 2.700l1.200 1.600c1.800-1.300 2.700-2.800 2.800-4.400.8-.3 1.400-.9 1.700-1.700 4.700-.2 8.600-2.900 8.600-6.700 0-3.300-4-6-9-6zm0 2c4 0 7 2 7 4s-2.700 3.800-6.400 4c-.5-.8-1.400-1.400-2.400-1.400-.8 0-1.500.300-2 .900C6.300 12.700 5 11.400 5 10c0-2 3-4 7-4z",
  wand: "M7.500 5.600 10 7 8.600 4.500 10 2 7.500 3.400 5 2l1.400 2.500L5 7zm12 9.800L17 14l1.400 2.500L17 19l2.500-1.400L22 19l-1.400-2.500L22 14zM14.400 7.300a1 1 0 0 0-1.400 0L1.300 19a1 1 0 0 0 0 1.400l2.300 2.300a1 1 0 0 0 1.400 0L16.700 11a1 1 0 0 0 0-1.400z",
  reset: "M12 5V1L7 6l5 5V7a5 5 0 1 1-5 5H5a7 7 0 1 0 7-7z",
  sun: "M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM11 1h2v4h-2zM11 19h2v4h-2zM1 11h4v2H1zM19 11h4v2h-4zM4.200 5.600l1.400-1.400 2.800 2.800L7 8.400zM15.600 17l1.400-1.400 2.800 2.800-1.400 1.400zM4.200 18.400 7 15.600 8.400 17l-2.800 2.800zM15.600 7l2.800-2.800 1.400 1.400L17 8.400z",
  moon: "M20 14.500A8.500 8.500 0 0 1 9.500 4 8.500 8.500 0 1 0 20 14.500z",
  half: "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20zm0 2v16a8 8 0 0 1 0-16z",
  book: "M12 6C10 4.700 7.300 4 4 4H2v15h2c3.300 0 6 .7 8 2 2-1.300 4.700-2 8-2h2V4h-2c-3.300 0-6 .7-8 2zm-1 12.200C9.100 17.400 6.700 17 4 17V6c2.800 0 5.200.6 7 1.700zM20 17c-2.700 0-5.100.4-7 1.200V7.700C14.800 6.600 17.200 6 20 6z",
  download: "M11 3h2v9.200l3.300-3.300 1.400 1.400L12 16l-5.700-5.700 1.400-1.400 3.300 3.300zM4 18h16v2H4z",
  upload: "M11 16h2V6.800l3.300 3.300 1.400-1.400L12 3 6.300 8.700l1.400 1.400L11 6.800zM4 18h16v2H4z",
  data: "M12 3C7 3 4 4.600 4 6.500v11C4 19.400 7 21 12 21s8-1.600 8-3.500v-11C20 4.600 17 3 12 3zm0 2c3.900 0 6 1 6 1.500S15.900 8 12 8 6 7 6 6.500 8.100 5 12 5zm6 12.500c0 .5-2.100 1.500-6 1.500s-6-1-6-1.500v-2.700c1.500.8 3.600 1.200 6 1.200s4.500-.4 6-1.200zm0-5c0 .5-2.100 1.500-6 1.500s-6-1-6-1.500V9.300c1.500.5 3.600.7 6 .7s4.500-.2 6-.7z",
  sliders: "M4 6h9v2H4zM17 6h3v2h-3zM14 4h2v6h-2zM4 16h3v2H4zM11 16h9v2h-9zM8 14h2v6H8z",
  map: "M7 14a3 3 0 1 1 0-6 3 3 0 0 1 0 6zm9-5a2.500 2.500 0 1 1 0-5 2.500 2.500 0 0 1 0 5zm1 11a3.500 3.500 0 1 1 0-7 3.500 3.500 0 0 1 0 7zM8 20a1.500 1.500 0 1 1 0-3 1.500 1.500 0 0 1 0 3z",
  ask: "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20zm1 17h-2v-2h2zm2-7.700-.9.900c-.7.700-1.100 1.300-1.100 2.800h-2v-.5c0-1.100.4-2.100 1.200-2.800l1.200-1.300A2 2 0 1 0 10 9H8a4 4 0 1 1 7 2.300z",
  file: "M6 2h8l6 6v14H4V2zm7 2H6v16h12V9h-5z",
  folder: "M3 5h7l2 2h9v12H3zm2 4v8h14V9z",
  trash: "M9 3h6l1 2h4v2H4V5h4zM6 9h12l-1 12H7z",
  morph: "M7 4 2 9l5 5v-4h7V8H7zm10 6v4h-7v2h7v4l5-5z",
  fit: "M4 4h6v2H6v4H4zM14 4h6v6h-2V6h-4zM4 14h2v4h4v2H4zM18 14h2v6h-6v-2h4z",
  search: "M10 3a7 7 0 1 0 4.200 12.600l5.100 5.100 1.400-1.400-5.100-5.100A7 7 0 0 0 10 3zm0 2a5 5 0 1 1 0 10 5 5 0 0 1 0-10z",
} as const;
export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

interface ButtonProps {
  icon?: IconName;
  label: string;
  hideLabel?: boolean;
  kind?: "primary" | "quiet" | "plain";
  pressed?: boolean;
  disabled?: boolean;
  onClick: () => void;
}

export function Button({ icon, label, hideLabel = false, kind = "plain", pressed, disabled = false, onClick }: ButtonProps): JSX.Element {
  return (
    <button
      type="button"
      class={`button ${kind}${hideLabel ? " bare" : ""}`}
      aria-label={hideLabel ? label : undefined}
      title={hideLabel ? label : undefined}
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
export function Slider({ label, value, min, max, step, log = false, help, badge, onInput }: SliderProps): JSX.Element {
  const id = useId();
  const low = log ? Math.max(min, max * 1e-6) : min;
  const forward = (v: number): number => (log ? (NOTCHES * Math.log(Math.max(v, low) / low)) / Math.log(max / low) : v);
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
        <span>{label}</span>
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

export function Switch({ label, value, help, onChange }: { label: string; value: boolean; help?: string; onChange: (value: boolean) => void }): JSX.Element {
  return (
    <div class="field">
      <label class="switch">
        <span>{label}</span>
        <input type="checkbox" role="switch" checked={value} onChange={(event) => onChange(event.currentTarget.checked)} />
      </label>
      {help && <p class="help">{help}</p>}
    </div>
  );
}

interface SelectProps {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[] | readonly { group: string; options: readonly (readonly [string, string])[] }[];
  hideLabel?: boolean;
  help?: string;
  onChange: (value: string) => void;
}

export function Select({ label, value, options, hideLabel = false, help, onChange }: SelectProps): JSX.Element {
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
          "group" in one ? (
            one.options.length > 0 && (
              <optgroup key={one.group} label={one.group}>
                {one.options.map(item)}
              </optgroup>
            )
          ) : (
            item(one)
          ),
        )}
      </select>
      {help && <p class="help">{help}</p>}
    </div>
  );
}

export function Section({ title, children, aside }: { title: string; children: ComponentChildren; aside?: ComponentChildren }): JSX.Element {
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

export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <Icon name={icon} />
      <strong>{title}</strong>
      {children && <p>{children}</p>}
    </div>
  );
}
