// Search for objects by id, text or value; the keyboard is enough.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import * as api from "./api";
import { Icon } from "./icons";
import { plural } from "./format";
import { pick } from "./picking";
import { views } from "./plot";
import * as state from "./state";

interface Hit {
  row: number;
  name: string;
  column: string | null;
  value: string;
}

const query = signal("");
const answer = signal<{ query: string; total: number; hits: Hit[] } | null>(null);
const at = signal(0); // the hit that Enter takes; after the last one: all of them
const open = signal(false);
const WAIT = 60; // milliseconds after the last key
let asked = 0;
let entered: boolean | null = null; // Enter was pressed before the answer came: whether for all objects

function ask(text: string): void {
  query.value = text;
  entered = null;
  open.value = true;
  const mine = ++asked;
  const data = state.dataset.value;
  if (!text.trim() || !data) {
    answer.value = null;
    return;
  }
  setTimeout(() => {
    if (mine !== asked) return;
    void state.attempt(async () => {
      const path = `/api/datasets/${data.id}/search?query=${encodeURIComponent(text)}`;
      const found = await api.get<{ total: number; hits: Hit[] }>(path);
      if (mine !== asked) return;
      answer.value = { query: text, ...found };
      at.value = 0;
      if (entered !== null) enter(entered);
    });
  }, WAIT);
}

/** Shows an object on the maps. */
function take(hit: Hit): void {
  const map = state.active.value;
  open.value = false;
  if (!map) return;
  pick(map, hit.row);
  views.forEach((view, id) => {
    const shown = state.maps.value.get(id);
    if (shown) view.reveal(state.pointOf(shown, hit.row));
  });
}

/** Selects all objects that match. */
async function takeAll(): Promise<void> {
  const [data, found] = [state.dataset.value, answer.value];
  open.value = false;
  if (!data || !found?.total) return;
  const path = `/api/datasets/${data.id}/search?all=1&query=${encodeURIComponent(found.query)}`;
  const rows = await state.attempt(() => api.values(path));
  if (rows instanceof ArrayBuffer) state.selection.value = { dataset: data.id, rows: new Uint32Array(rows) };
}

/** Takes the chosen hit, or all of them, as soon as the hits are those of what is written. */
function enter(all: boolean): void {
  const found = answer.value;
  if (found?.query !== query.value) entered = all;
  else if (found.hits[at.value] && !all) take(found.hits[at.value]);
  else void takeAll();
}

export function Search(): JSX.Element | null {
  const field = useRef<HTMLInputElement>(null);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const gone = new AbortController();
    const on = <K extends keyof WindowEventMap>(name: K, act: (event: WindowEventMap[K]) => void): void =>
      window.addEventListener(name, act, { signal: gone.signal });
    on("keydown", (event) => {
      const typing = event.target instanceof HTMLElement && event.target.matches("input, select, textarea");
      if (event.key !== "/" || typing || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      field.current?.focus();
      field.current?.select();
    });
    on("pointerdown", (event) => {
      if (!box.current?.contains(event.target as Node)) open.value = false;
    });
    return () => gone.abort();
  }, []);
  if (!state.dataset.value) return null;
  const found = answer.value;
  const hits = found?.hits ?? [];
  const shown = open.value && found !== null;
  const last = hits.length + (hits.length ? 1 : 0); // the hits, then all of them
  const keys = (event: KeyboardEvent): void => {
    const act: Record<string, () => void> = {
      ArrowDown: () => (at.value = last ? (at.value + 1) % last : 0),
      ArrowUp: () => (at.value = last ? (at.value + last - 1) % last : 0),
      Enter: () => enter(event.shiftKey),
      Escape: () => {
        if (open.value) open.value = false;
        else ask("");
      },
    };
    if (!act[event.key]) return;
    event.preventDefault();
    act[event.key]();
  };
  const option = (k: number, act: () => void, children: JSX.Element): JSX.Element => (
    <li
      key={k}
      id={`hit-${k}`}
      role="option"
      aria-selected={at.value === k}
      onPointerDown={(event) => {
        event.preventDefault(); // the field keeps the focus
        act();
      }}
    >
      {children}
    </li>
  );
  return (
    <div class="search" role="search" ref={box}>
      <Icon name="search" />
      <input
        ref={field}
        type="text"
        role="combobox"
        aria-label="Search objects"
        aria-expanded={shown}
        aria-controls="hits"
        aria-autocomplete="list"
        aria-activedescendant={shown && last ? `hit-${at.value}` : undefined}
        placeholder="Search  /"
        title="An id, a text, a value, or a condition such as alcohol > 14"
        autoComplete="off"
        spellcheck={false}
        value={query.value}
        onFocus={() => (open.value = true)}
        onInput={(event) => ask(event.currentTarget.value)}
        onKeyDown={keys}
      />
      <ul id="hits" role="listbox" aria-label="Objects found" hidden={!shown || !last}>
        {shown &&
          hits.map((hit, k) =>
            option(
              k,
              () => take(hit),
              <>
                <bdi>{hit.name}</bdi>
                {hit.column && (
                  <small>
                    {hit.column}: {hit.value}
                  </small>
                )}
              </>,
            ),
          )}
        {shown &&
          hits.length > 0 &&
          option(
            hits.length,
            () => void takeAll(),
            <strong>Select all: {plural(found.total, "object")}</strong>,
          )}
      </ul>
      {shown && !last && (
        <p class="none" role="status">
          Nothing found
        </p>
      )}
    </div>
  );
}
