// Names of regions: those that suit the zoom, the largest first.

export interface Region {
  text: string;
  /** The region around this one in the list; -1 for none. */
  parent: number;
  /** Number of objects. */
  size: number;
  /** The place of the name and how far the region reaches around it, in coordinates of the map. */
  point: readonly number[];
  radius: number;
}

const SPLIT = 0.12; // of the shorter side of the picture: a region that is larger gives way to its parts
const LEAST = 10; // CSS pixels of radius, below which a region has no name

/** The regions whose size on the picture suits a name; `pixels` is the length of a unit of the map. */
export function regionsAtZoom(
  regions: readonly Region[],
  pixels: number,
  shorter: number,
  ratio: number,
): Region[] {
  const parts = new Map<number, number[]>();
  regions.forEach(({ parent }, k) => parts.set(parent, [...(parts.get(parent) ?? []), k]));
  const found: Region[] = [];
  const visit = (k: number): void => {
    const own = regions[k];
    const inner = parts.get(k);
    if (inner && own.radius * pixels > SPLIT * shorter) inner.forEach(visit);
    else if (own.radius * pixels >= LEAST * ratio) found.push(own);
  };
  parts.get(-1)?.forEach(visit);
  return found.sort((a, b) => b.size - a.size);
}
