// The scatter view in a notebook, through anywidget: linked maps whose selection Python can read.

import {
  byCategory,
  byValue,
  categoryColor,
  DIM,
  fade,
  HIDDEN,
  makeFacets,
  makeSlider,
  plain,
  rgb,
  scaleOf,
  Scatter,
  SHOWN,
  type Facets,
  type Mode,
  type Passing,
  type Region,
  type Theme,
} from "../scatter";
import facetsStyle from "../scatter/facets.css";
import scatterStyle from "../scatter/scatter.css";
import widgetStyle from "./widget.css";

interface StoredMap {
  name: string;
  dim: number;
  points: DataView;
}

interface Color {
  name: string;
  kinds?: string[];
  codes?: DataView;
  values?: DataView;
}

interface Traits {
  _maps: StoredMap[];
  _colors: Color[];
  _ids: string[];
  _regions: Region[][];
  _doubts: (DataView | null)[];
  _has_data: boolean;
  selection: number[];
  filters: Record<string, Passing>;
  slider: boolean;
  height: number;
}

interface Model {
  get<K extends keyof Traits>(name: K): Traits[K];
  set<K extends keyof Traits>(name: K, value: Traits[K]): void;
  save_changes(): void;
  send(content: unknown): void;
  on(name: string, act: (...given: never[]) => void): void;
  off(name: string, act: (...given: never[]) => void): void;
}

interface FrameMessage {
  type: string;
  map: number;
  dim: number;
  iteration?: number;
  loss?: number | null;
}

/** Numbers of a message, copied because they may not be aligned. */
function bytes({ buffer, byteOffset, byteLength }: DataView): ArrayBuffer {
  return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
}

function render({ model, el }: { model: Model; el: HTMLElement }): () => void {
  const make = <K extends keyof HTMLElementTagNameMap>(
    name: K,
    about: Partial<HTMLElementTagNameMap[K]> = {},
  ): HTMLElementTagNameMap[K] => Object.assign(document.createElement(name), about);
  const frame = make("div", { className: "lowdim" });
  const tools = make("div", { className: "tools" });
  const grid = make("div", { className: "maps" });
  const key = make("div", { className: "key" });
  const said = make("span", { role: "status" });
  const choose = make("select", { ariaLabel: "Colour by" });
  const slides = make("div");
  frame.append(
    make("style", { textContent: scatterStyle + facetsStyle + widgetStyle }),
    tools,
    slides,
    grid,
    key,
  );
  el.append(frame);
  let views: { view: Scatter; caption: HTMLElement; host: HTMLElement }[] = [];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = (): Theme => {
    const { body } = document;
    const told = body.dataset.jpThemeLight ?? (body.classList.contains("vscode-dark") ? "false" : null);
    return (told ? told === "false" : dark.matches) ? "dark" : "light";
  };

  const button = (text: string, act: (button: HTMLButtonElement) => void): HTMLButtonElement => {
    const made = make("button", { type: "button", textContent: text });
    made.addEventListener("click", () => act(made));
    tools.append(made);
    return made;
  };
  const setMode = (mode: Mode): void => {
    lasso.ariaPressed = String(mode === "lasso");
    views.forEach(({ view, host }) => {
      view.mode = mode;
      host.dataset.mode = mode;
    });
  };
  const lasso = button("Select", (own) => setMode(own.ariaPressed === "true" ? "move" : "lasso"));
  button("Clear", () => select([]));
  const regions = button("Regions", (own) => {
    own.ariaPressed = String(own.ariaPressed !== "true");
    if (!model.get("_regions").length) model.send("regions"); // which the kernel finds
    showRegions();
  });
  const trust = button("Trust", (own) => {
    own.ariaPressed = String(own.ariaPressed !== "true");
    if (!model.get("_doubts").length) model.send("reliability"); // which the kernel measures
    paint();
  });
  trust.title = "Fade the objects whose place is doubtful";
  const filter = button("Filters", (own) => {
    own.ariaPressed = String(own.ariaPressed !== "true");
    drawFacets();
  });
  button("Reset", () => views.forEach(({ view }) => view.reset()));
  const wanted = make("input", { type: "search", placeholder: "Find", ariaLabel: "Find objects" });
  wanted.addEventListener("change", () => select(find(wanted.value.trim().toLowerCase())));
  tools.append(choose, wanted, said);
  choose.addEventListener("change", paint);

  function select(points: ArrayLike<number>): void {
    model.set("selection", Array.from(points));
    model.save_changes();
    highlight();
  }

  function showRegions(): void {
    const found = model.get("_regions");
    const on = regions.ariaPressed === "true";
    views.forEach(({ view }, place) => view.setRegions(on ? (found[place || first] ?? null) : null));
  }

  let facets: Facets | null = null;

  /** The filters of all columns, made when they are first needed. */
  function drawFacets(): void {
    const open = filter.ariaPressed === "true";
    const n = views[0]?.view.n ?? 0;
    if (!facets && n && (open || Object.keys(model.get("filters")).length)) {
      const columns = model.get("_colors").map(({ name, kinds, codes, values }) => ({
        name,
        kinds,
        codes: codes && new Uint16Array(bytes(codes)),
        values: values && new Float32Array(bytes(values)),
      }));
      facets = makeFacets(columns, n, () => {
        model.set("filters", facets!.filters);
        model.save_changes();
        highlight();
      });
      facets.set(model.get("filters"));
      tools.after(facets.element);
    }
    if (facets) facets.element.hidden = !open;
  }

  function refilter(): void {
    if (facets) facets.set(model.get("filters"));
    else drawFacets();
    highlight();
  }

  /** The map that the first view shows, by the slider. */
  let first = 0;

  function highlight(): void {
    const chosen = model.get("selection");
    const failing = facets?.failing;
    said.textContent = [
      chosen.length ? `${chosen.length.toLocaleString("en")} selected` : "",
      failing ? `${failing.reduce((sum, out) => sum + Number(!out), 0).toLocaleString("en")} pass` : "",
    ]
      .filter(Boolean)
      .join(", ");
    views.forEach(({ view }) => {
      const states = new Uint8Array(view.n).fill(chosen.length ? DIM : SHOWN);
      chosen.forEach((i) => (states[i] = SHOWN));
      failing?.forEach((out, i) => out && (states[i] = HIDDEN));
      view.setStates(chosen.length || failing ? states : null);
    });
  }

  const idOf = (point: number): string => model.get("_ids")[point] ?? `row ${point}`;

  /** The objects that have a text in their id or in the name of a category. */
  function find(text: string): number[] {
    const kinds = model.get("_colors").flatMap(({ kinds, codes }) => {
      const hits = kinds?.map((kind) => kind.toLowerCase().includes(text));
      return hits && codes ? [{ hits, codes: new Uint16Array(bytes(codes)) }] : [];
    });
    const n = text ? (views[0]?.view.n ?? 0) : 0;
    return Array.from({ length: n }, (_, i) => i).filter(
      (i) => idOf(i).toLowerCase().includes(text) || kinds.some(({ hits, codes }) => hits[codes[i]]),
    );
  }

  function hover(point: number): void {
    const color = model.get("_colors")[Number(choose.value)];
    const code = color?.codes && point >= 0 ? new Uint16Array(bytes(color.codes))[point] : -1;
    const name = idOf(point);
    if (point >= 0) said.textContent = color?.kinds?.[code] ? `${name}: ${color.kinds[code]}` : name;
    else highlight();
    views.forEach(({ view }) => view.setRinged(point < 0 ? [] : [point]));
  }

  function paint(): void {
    const now = theme();
    frame.dataset.theme = now;
    const style = getComputedStyle(frame);
    const token = (name: string): string => style.getPropertyValue(name).trim();
    const color = model.get("_colors")[Number(choose.value)];
    key.replaceChildren();
    trust.hidden = !model.get("_has_data");
    views.forEach(({ view }, place) => {
      view.setInks({ ink: token("--ink"), paper: token("--panel"), accent: token("--accent") });
      view.setNames(null);
      const stored = trust.ariaPressed === "true" ? model.get("_doubts")[place || first] : null;
      const doubts = stored ? new Float32Array(bytes(stored)) : null;
      const setColors = (colors: Uint32Array | null): void =>
        view.setColors(doubts ? fade(colors ?? plain(view.n), doubts, rgb(token("--panel"))) : colors);
      if (color?.codes && color.kinds) {
        const codes = new Uint16Array(bytes(color.codes));
        const listed = color.kinds.map((_, code) => code);
        setColors(byCategory(codes, listed.map(categoryColor)));
        view.setNames({ texts: color.kinds, codes, listed });
      } else if (color?.values) {
        const values = new Float32Array(bytes(color.values));
        setColors(byValue(values, scaleOf(values), now));
      } else setColors(null);
    });
    color?.kinds?.slice(0, 30).forEach((kind, code) => {
      const [entry, dot] = [make("span"), make("i")];
      dot.style.background = categoryColor(code);
      entry.append(dot, kind);
      key.append(entry);
    });
  }

  function build(): void {
    const all = model.get("_maps");
    const one = model.get("slider") && all.length > 1;
    const maps = one ? all.slice(0, 1) : all;
    first = 0;
    slides.replaceChildren(
      ...(one
        ? [
            makeSlider(
              all.map(({ name }) => name),
              turn,
            ),
          ]
        : []),
    );
    while (views.length > maps.length) {
      const gone = views.pop()!;
      gone.view.destroy();
      gone.host.parentElement!.remove();
    }
    maps.forEach(({ name, dim, points }, place) => {
      if (!views[place]) {
        const [figure, host, caption] = [make("figure"), make("div"), make("figcaption")];
        figure.append(caption, host);
        grid.append(figure);
        views.push({
          view: new Scatter(host, { label: name, events: { hover, select, escape: () => select([]) } }),
          caption,
          host,
        });
      }
      const { view, caption, host } = views[place];
      caption.textContent = name;
      host.style.height = `${model.get("height")}px`;
      view.setPositions(new Float32Array(bytes(points)), dim);
    });
    recolor();
  }

  function turn(place: number): void {
    const { name, dim, points } = model.get("_maps")[place];
    first = place;
    views[0].caption.textContent = name;
    views[0].view.setPositions(new Float32Array(bytes(points)), dim, 600);
    showRegions();
    paint();
  }

  function recolor(): void {
    facets?.element.remove();
    facets = null;
    drawFacets();
    choose.replaceChildren(
      ...model.get("_colors").map(({ name }, k) => make("option", { value: String(k), textContent: name })),
    );
    choose.hidden = model.get("_colors").length < 2;
    paint();
    highlight();
  }

  function live(message: FrameMessage, buffers: DataView[]): void {
    if (message.type !== "frame" || !views[message.map]) return;
    const { view, caption } = views[message.map];
    const before = view.n;
    const stored = model.get("_maps")[message.map];
    Object.assign(stored, { points: buffers[0], dim: message.dim }); // for another view of the widget
    view.setPositions(new Float32Array(bytes(buffers[0])), message.dim, 80);
    const loss = typeof message.loss === "number" ? `, loss ${message.loss.toPrecision(4)}` : "";
    caption.textContent = `${stored.name}: iteration ${message.iteration ?? 0}${loss}`;
    if (view.n !== before) recolor();
  }

  const listeners: [string, (...given: never[]) => void][] = [
    ["change:_maps", build],
    ["change:_colors", recolor],
    ["change:height", build],
    ["change:slider", build],
    ["change:filters", refilter],
    ["change:_regions", showRegions],
    ["change:_doubts", paint],
    ["change:selection", highlight],
    ["msg:custom", live],
  ];
  listeners.forEach(([name, act]) => model.on(name, act));
  dark.addEventListener("change", paint);
  build();
  return () => {
    listeners.forEach(([name, act]) => model.off(name, act));
    dark.removeEventListener("change", paint);
    views.forEach(({ view }) => view.destroy());
    views = [];
  };
}

export default { render };
