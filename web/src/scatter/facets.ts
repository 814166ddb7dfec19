// Filters by columns, as histograms and lists of categories, and a slider over maps: for report and widget.

export interface FacetColumn {
  name: string;
  /** The categories and their numbers by row, or else values. */
  kinds?: readonly string[] | null | undefined;
  codes?: ArrayLike<number> | undefined;
  values?: ArrayLike<number> | undefined;
  show?: (value: number) => string;
}

/** What passes a filter: a range of values, or some categories. */
export type Passing = [number, number] | string[];

export interface Facets {
  element: HTMLElement;
  /** How many filters each row fails; null if there is no filter. */
  failing: Uint8Array | null;
  filters: Record<string, Passing>;
  set(filters: Record<string, Passing>): void;
}

const BINS = 24;
const MOST_KINDS = 12; // categories of a column that are listed
const MISSING = 255; // in place of a bin

function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  about: Partial<HTMLElementTagNameMap[K]>,
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = Object.assign(document.createElement(name), about);
  made.append(...children);
  return made;
}

interface Facet {
  bins: Uint8Array;
  n: number; // of bins
  removed: Uint8Array | null;
  filter(passing: Passing | undefined): Uint8Array | null;
  show(counts: Float64Array, passing: Passing | undefined): void;
  element: HTMLElement;
}

/** Filters of columns of n rows; `changed` is called when the reader has changed one. */
export function makeFacets(columns: readonly FacetColumn[], n: number, changed: () => void): Facets {
  const failing = new Uint8Array(n);
  const made: Facets = { element: make("div", { className: "facets" }), failing: null, filters: {}, set };
  const facets = columns.map((column) => {
    const act = (passing: Passing | null): void => {
      const { [column.name]: _, ...others } = made.filters;
      set(passing ? { ...others, [column.name]: passing } : others);
      changed();
    };
    const facet = column.kinds ? kindFacet(column, column.kinds, n, act) : rangeFacet(column, n, act);
    made.element.append(facet.element);
    return facet;
  });

  function set(filters: Record<string, Passing>): void {
    const before = made.filters;
    made.filters = filters;
    facets.forEach((facet, k) => {
      const { name } = columns[k];
      if (filters[name] === before[name]) return;
      facet.removed?.forEach((out, i) => (failing[i] -= out));
      facet.removed = facet.filter(filters[name]);
      facet.removed?.forEach((out, i) => (failing[i] += out));
    });
    made.failing = facets.some((facet) => facet.removed) ? failing : null;
    count();
  }

  /** Counts in each column what passes the filters of all others. */
  function count(): void {
    facets.forEach(({ bins, removed, n: size, show }, k) => {
      const counts = new Float64Array(256);
      for (let i = 0; i < n; i++) if (failing[i] === (removed ? removed[i] : 0)) counts[bins[i]]++;
      show(counts.subarray(0, size), made.filters[columns[k].name]);
    });
  }
  count();
  return made;
}

function kindFacet(
  { name, codes }: FacetColumn,
  kinds: readonly string[],
  n: number,
  act: (passing: Passing | null) => void,
): Facet {
  const bins = Uint8Array.from({ length: n }, (_, i) => Math.min(codes![i], MISSING));
  const totals = new Float64Array(256);
  bins.forEach((bin) => totals[bin]++);
  const listed = [...kinds.keys()].filter((code) => code < MISSING).sort((a, b) => totals[b] - totals[a]);
  const buttons = listed.slice(0, MOST_KINDS).map((code) => {
    const [bar, size] = [make("i", {}), make("small", {})];
    const button = make("button", { type: "button" }, make("bdi", { textContent: kinds[code] }), size, bar);
    button.addEventListener("click", () => {
      const chosen = new Set(passing);
      if (!chosen.delete(kinds[code])) chosen.add(kinds[code]);
      act(chosen.size ? [...chosen] : null);
    });
    return { code, button, bar, size };
  });
  let passing: string[] = [];
  return {
    bins,
    n: Math.min(kinds.length, MISSING),
    removed: null,
    filter: (given) => {
      passing = (given ?? []) as string[];
      if (!given) return null;
      const passes = kinds.map((kind) => passing.includes(kind));
      return Uint8Array.from({ length: n }, (_, i) => Number(!passes[codes![i]]));
    },
    show: (counts) => {
      const most = Math.max(...counts, 1);
      for (const { code, button, bar, size } of buttons) {
        button.ariaPressed = String(passing.includes(kinds[code]));
        size.textContent = counts[code].toLocaleString("en");
        bar.style.width = `${(100 * counts[code]) / most}%`;
      }
    },
    element: make(
      "fieldset",
      {},
      make("legend", { textContent: name }),
      ...buttons.map(({ button }) => button),
    ),
  };
}

function rangeFacet(
  { name, values, show = (value) => String(Number(value.toPrecision(4))) }: FacetColumn,
  n: number,
  act: (passing: Passing | null) => void,
): Facet {
  let [least, greatest] = [Infinity, -Infinity];
  for (let i = 0; i < n; i++) {
    if (values![i] < least) least = values![i];
    if (values![i] > greatest) greatest = values![i];
  }
  const edge = (bin: number): number => least + ((greatest - least) * bin) / BINS;
  const binOf = (value: number): number => Math.floor(((value - least) / (greatest - least || 1)) * BINS);
  const bins = Uint8Array.from({ length: n }, (_, i) => {
    const value = values![i];
    return value === value ? Math.min(binOf(value), BINS - 1) : MISSING;
  });
  const bars = Array.from({ length: BINS }, () => make("i", {}));
  const said = make("small", {});
  const slider = (what: string, value: number): HTMLInputElement =>
    make("input", {
      type: "range",
      min: "0",
      max: String(BINS),
      value: String(value),
      ariaLabel: `${what} ${name}`,
    });
  const [low, high] = [slider("Least", 0), slider("Greatest", BINS)];
  const move = (): void => {
    const [from, to] = [low, high].map((one) => one.valueAsNumber).sort((a, b) => a - b);
    if (from === to) return;
    act(from === 0 && to === BINS ? null : [edge(from), edge(to)]);
  };
  low.addEventListener("input", move);
  high.addEventListener("input", move);
  return {
    bins,
    n: BINS,
    removed: null,
    filter: (given) => {
      if (!given) return null;
      const [from, to] = given as [number, number];
      return Uint8Array.from({ length: n }, (_, i) => Number(!(values![i] >= from && values![i] <= to)));
    },
    show: (counts, given) => {
      const most = Math.max(...counts, 1);
      const [from, to] = (given ?? [least, greatest]) as [number, number];
      bars.forEach((bar, k) => {
        bar.style.height = `${(100 * counts[k]) / most}%`;
        bar.classList.toggle("out", edge(k + 0.5) < from || edge(k + 0.5) > to);
      });
      if (!given) [low.value, high.value] = ["0", String(BINS)];
      said.textContent = `${show(from)} to ${show(to)}`;
    },
    element: make(
      "fieldset",
      {},
      make("legend", { textContent: name }),
      make("div", { className: "bars", ariaHidden: "true" }, ...bars),
      make("div", { className: "ends" }, low, high),
      said,
    ),
  };
}

/** A slider over maps by their names; `chosen` gets the number of one. */
export function makeSlider(names: readonly string[], chosen: (place: number) => void): HTMLElement {
  const said = make("output", { textContent: names[0] });
  const input = make("input", { type: "range", min: "0", max: String(names.length - 1), value: "0" });
  input.ariaLabel = "Map";
  input.addEventListener("input", () => {
    said.textContent = input.ariaValueText = names[input.valueAsNumber];
    chosen(input.valueAsNumber);
  });
  return make("div", { className: "slides" }, input, said);
}
