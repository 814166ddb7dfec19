// Icons of 24 by 24 units.

import type { JSX } from "preact";

const PATHS = {
  play: "M8 5v14l11-7z",
  pause: "M6 5h4v14H6zM14 5h4v14h-4z",
  step: "M6 5v14l9-7zM16 5h3v14h-3z",
  stop: "M6 6h12v12H6z",
  close: "M6.4 5 5 6.4 10.6 12 5 17.6 6.4 19 12 13.4 17.6 19 19 17.6 13.4 12 19 6.4 17.6 5 12 10.6z",
  move: "M12 2 8.5 6H11v5H6V8.5L2 12l4 3.5V13h5v5H8.5l3.5 4 3.5-4H13v-5h5v2.5l4-3.5-4-3.5V11h-5V6h2.5z",
  lasso:
    "M12 4C6 4 2 7 2 10.5S6 17 12 17s10-3 10-6.5S18 4 12 4zm0 2c5 0 8 2.3 8 4.5S17 15 12 15s-8-2.3-8-4.5S7 6 12 6zM6 16l-2 6h2.2l1.6-5z",
  pin: "M8 2h8v2l-1.5 1v6L17 14v2h-4v6h-2v-6H7v-2l2.5-3V5L8 4z",
  wand: "M3 18 14 7l3 3L6 21zM18 1l1 3 3 1-3 1-1 3-1-3-3-1 3-1z",
  reset: "M12 5V1L7 6l5 5V7a5 5 0 1 1-5 5H5a7 7 0 1 0 7-7z",
  sun: "M12 7a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM11 1h2v4h-2zm0 18h2v4h-2zM1 11h4v2H1zm18 0h4v2h-4z",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
  half: "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20zm0 2v16a8 8 0 0 1 0-16z",
  book: "M3 5h7l2 1.5L14 5h7v14h-7l-2 1.5-2-1.5H3zm2 2v10h5.5l.5.3V8L9.5 7zm14 0h-4.5L13 8v9.3l.5-.3H19z",
  download: "M11 3h2v9.2l3.3-3.3 1.4 1.4L12 16l-5.7-5.7 1.4-1.4 3.3 3.3zM4 18h16v2H4z",
  upload: "M11 16h2V6.8l3.3 3.3 1.4-1.4L12 3 6.3 8.7l1.4 1.4L11 6.8zM4 18h16v2H4z",
  data: "M4 4h16v4H4zm0 6h16v4H4zm0 6h16v4H4z",
  sliders: "M4 6h9v2H4zM17 6h3v2h-3zM14 4h2v6h-2zM4 16h3v2H4zM11 16h9v2h-9zM8 14h2v6H8z",
  map: "M7 14a3 3 0 1 1 0-6 3 3 0 0 1 0 6zm9-5a2.5 2.5 0 1 1 0-5 2.5 2.5 0 0 1 0 5zm1 11a3.5 3.5 0 1 1 0-7 3.5 3.5 0 0 1 0 7zM8 20a1.5 1.5 0 1 1 0-3 1.5 1.5 0 0 1 0 3z",
  ask: "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20zm1 17h-2v-2h2zm2-7.7c-1.3 1.2-2 1.8-2 3.7h-2c0-2.7 1-3.7 2.2-4.8A2 2 0 1 0 10 9H8a4 4 0 1 1 7 2.3z",
  file: "M6 2h8l6 6v14H4V2zm7 2H6v16h12V9h-5z",
  folder: "M3 5h7l2 2h9v12H3zm2 4v8h14V9z",
  trash: "M9 3h6l1 2h4v2H4V5h4zM6 9h12l-1 12H7z",
  fit: "M4 4h6v2H6v4H4zM14 4h6v6h-2V6h-4zM4 14h2v4h4v2H4zM18 14h2v6h-6v-2h4z",
  tip: "M3 4h18v13h-7l-4 4v-4H3zm2 2v9h14V6zm2 2h10v2H7zm0 3h7v2H7z",
  search:
    "M10 3a7 7 0 1 0 4.2 12.6l5.1 5.1 1.4-1.4-5.1-5.1A7 7 0 0 0 10 3zm0 2a5 5 0 1 1 0 10 5 5 0 0 1 0-10z",
} as const;
export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
