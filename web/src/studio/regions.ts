// Regions of maps with their names, which the server finds when they are first asked for.

import { signal, type Signal } from "@preact/signals";
import type { Region } from "../scatter";
import * as api from "./api";
import * as state from "./state";
import type { MapInfo } from "./types";

const known = new Map<string, Signal<Region[] | null>>();

/** The regions of a finished map; null until they are found. */
export function regionsOf(map: MapInfo): Region[] | null {
  const key = `${map.id}/${map.iteration}`;
  let found = known.get(key);
  if (!found) {
    const made = (found = signal<Region[] | null>(null));
    known.set(key, found);
    queueMicrotask(() => {
      void state
        .attempt(() => api.get<Region[]>(`/api/maps/${map.id}/regions`))
        .then((regions) => (made.value = regions));
    });
  }
  return found.value;
}
