// The WebSocket: states as text, coordinates as binary frames. It connects again when the server is gone.

import { signal } from "@preact/signals";
import type { Dataset, MapInfo, State } from "./types";

export type Message =
  | ({ type: "state" } & State)
  | { type: "map"; map: MapInfo }
  | { type: "dataset"; dataset: Dataset }
  | { type: "removed"; id: string }
  | { type: "error"; error: string };

export interface Frame {
  number: number;
  frame: number;
  n: number;
  dim: number;
  positions: Float32Array;
}

export interface Listener {
  opened(): void;
  message(message: Message): void;
  frame(frame: Frame): void;
}

export const connection = signal<"connecting" | "open" | "lost" | "refused">("connecting");

const HEADER = 16; // bytes: four numbers of 32 bits
const [FIRST_WAIT, LONGEST_WAIT] = [400, 4000]; // milliseconds

let socket: WebSocket | null = null;
let watched: readonly string[] = [];

export function watch(maps: readonly string[]): void {
  watched = maps;
  tell({ type: "watch", maps });
}

function tell(message: unknown): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

export function connect(listener: Listener, wait = FIRST_WAIT): void {
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const made = new WebSocket(`${scheme}://${location.host}/api/stream`);
  made.binaryType = "arraybuffer";
  socket = made;
  let next = wait;
  made.onopen = () => {
    connection.value = "open";
    next = FIRST_WAIT;
    listener.opened();
    watch(watched);
  };
  made.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
    if (typeof data === "string") {
      listener.message(JSON.parse(data) as Message);
      return;
    }
    const [number, frame, n, dim] = new Uint32Array(data, 0, 4);
    listener.frame({ number, frame, n, dim, positions: new Float32Array(data, HEADER, n * dim) });
    // The next frame is sent after this, so a page that draws slowly gets fewer of them.
    requestAnimationFrame(() => tell({ type: "ack", number, frame }));
  };
  made.onclose = () => {
    if (socket !== made) return;
    connection.value = "lost";
    // A browser does not tell why a WebSocket failed; an ordinary request does.
    void fetch("/api/toys").then(
      ({ status }) => {
        if ((status === 401 || status === 403) && connection.value === "lost") connection.value = "refused";
      },
      () => undefined,
    );
    setTimeout(() => connect(listener, Math.min(next * 1.6, LONGEST_WAIT)), next);
  };
}
