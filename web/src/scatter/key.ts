// What the colours of an exported picture mean, to the right of the map.

/** A title, and names with their colours. */
export interface Key {
  title: string;
  entries: readonly (readonly [name: string, color: string])[];
}

/** A line of the key, its middle at height `y`; without a colour it has no dot. */
export interface Line {
  y: number;
  text: string;
  bold: boolean;
  color?: string;
}

const STEP = 18; // CSS pixels between lines, as all lengths here
const TOP = 22;
const MOST_LETTERS = 28;
export const DOT = { x: 18, radius: 4.5 };

export const leftOf = (line: Line): number => (line.bold ? DOT.x - DOT.radius : DOT.x + 12);

/** The lines of a key that fit a picture of some height. */
export function linesOf({ title, entries }: Key, height: number): Line[] {
  const room = Math.max(Math.floor((height - TOP) / STEP) - 1, 2);
  const listed = entries.length <= room ? entries : entries.slice(0, room - 1);
  const lines: Omit<Line, "y">[] = [{ text: title, bold: true }];
  for (const [text, color] of listed) lines.push({ text, color, bold: false });
  if (listed !== entries) lines.push({ text: `and ${entries.length - listed.length} more`, bold: false });
  return lines.map((line, k) => ({
    ...line,
    y: TOP + k * STEP,
    text: line.text.length > MOST_LETTERS ? `${line.text.slice(0, MOST_LETTERS - 1)}…` : line.text,
  }));
}
