// What the page knows and what is on the screen, as signals.

import { computed, signal, type ReadonlySignal } from "@preact/signals";
import type { Mode, Theme } from "../scatter";
import { count, plural } from "./format";
import type { Dataset, MapInfo, Method, Toy, Value } from "./types";

export const MOST_SHOWN = 4;

/** Whether the state of the server is known. */
export const known = signal(false);
export const root = signal("");
export const datasets = signal<ReadonlyMap<string, Dataset>>(new Map());
export const maps = signal<ReadonlyMap<string, MapInfo>>(new Map());
export const methods = signal<readonly Method[]>([]);
export const toys = signal<readonly Toy[]>([]);
export const ready: ReadonlySignal<boolean> = computed(() => known.value && methods.value.length > 0);

export const datasetId = signal<string | null>(null);
export const shown = signal<readonly string[]>([]);
export const activeId = signal<string | null>(null);
export const methodName = signal("TSNE");
export const forms = signal<ReadonlyMap<string, Readonly<Record<string, Value>>>>(new Map());
export const colorBy = signal("");
export const hiddenKinds = signal<ReadonlySet<number>>(new Set());
export const showNames = signal(true);
export const showRegions = signal(false);
export const showContours = signal(false);
/** Whether objects whose place is doubtful are faded. */
export const showTrust = signal(false);
/** Columns whose values the tooltip shows. */
export const tipFields = signal<readonly string[]>([]);
export const showImages = signal(true);
export const align = signal(true);
export const mode = signal<Mode>("move");
export const selection = signal<Rows | null>(null);
export const hovered = signal<RowOf | null>(null);
export const picked = signal<RowOf | null>(null);
export const themeChoice = signal<"auto" | "light" | "dark">("auto");
export const lessonStep = signal<number | null>(null);
export const compare = signal(false);
/** Iterations per second of the runs, so that small ones can be watched; null is full speed. */
export const pace = signal<number | null>(150);

/** The panel of questions that is open. */
export type Tab = "columns" | "point" | "selection" | "features" | "quality" | "suspects";
export const tab = signal<Tab>("columns");

export interface Rows {
  dataset: string;
  rows: Uint32Array;
}

export interface RowOf {
  dataset: string;
  row: number;
}

export const dataset: ReadonlySignal<Dataset | null> = computed(
  () => datasets.value.get(datasetId.value ?? "") ?? null,
);
export const active: ReadonlySignal<MapInfo | null> = computed(
  () => maps.value.get(activeId.value ?? "") ?? null,
);
export const method: ReadonlySignal<Method | null> = computed(
  () => methods.value.find((one) => one.name === methodName.value) ?? methods.value[0] ?? null,
);

/** Whether a map has coordinates that stay as they are. */
export const settled = (map: MapInfo): boolean => ["done", "stopped", "paused"].includes(map.status);

/** Whether the fit of a map has ended with coordinates. */
export const ended = ({ status }: MapInfo): boolean => status === "done" || status === "stopped";

/** Whether a map is being computed, or will be. */
export const computing = ({ status }: MapInfo): boolean => status === "running" || status === "queued";

/** What a map is called on the screen. */
export function titleOf(map: MapInfo): string {
  return map.title || (methods.value.find((one) => one.name === map.method)?.title ?? map.method);
}

/** What a map was made of, how it was steered, and the parameters that differ from the defaults. */
export function settingsOf(map: MapInfo): string {
  const method = methods.value.find((one) => one.name === map.method);
  const changed = Object.entries(map.parameters).filter(
    ([name, value]) => method?.parameters.find((one) => one.name === name)?.default !== value,
  );
  const made = map.rows === null ? map.made_of : `${count(map.rows)} selected objects, ${map.made_of}`;
  const held = map.pins ? `${plural(map.pins, "object")} held` : "";
  return [made, held, ...changed.map(([name, value]) => `${name} ${String(value)}`)]
    .filter(Boolean)
    .join(", ");
}

export const shownMaps: ReadonlySignal<readonly MapInfo[]> = computed(() =>
  shown.value.map((id) => maps.value.get(id)).filter((map) => map !== undefined),
);

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const systemDark = signal(prefersDark.matches);
prefersDark.addEventListener("change", () => (systemDark.value = prefersDark.matches));
export const theme: ReadonlySignal<Theme> = computed(() =>
  themeChoice.value === "auto" ? (systemDark.value ? "dark" : "light") : themeChoice.value,
);
