// Short messages to the reader.

import { signal } from "@preact/signals";

export interface Notice {
  key: number;
  text: string;
  bad: boolean;
  undo?: () => void;
  /** Called when the notice goes and the reader has not undone what it tells. */
  done?: () => void;
}

export const notices = signal<readonly Notice[]>([]);
let nextKey = 0;

function show(notice: Omit<Notice, "key">, milliseconds: number): void {
  const key = nextKey++;
  notices.value.filter((one) => one.text === notice.text).forEach((one) => dismiss(one));
  notices.value = [...notices.value, { key, ...notice }];
  setTimeout(
    () => notices.value.filter((one) => one.key === key).forEach((one) => dismiss(one)),
    milliseconds,
  );
}

export function notify(text: string, bad = false): void {
  show({ text, bad }, bad ? 12_000 : 5000);
}

/** Tells what was done, with a button that undoes it; `done` is called when it is too late for that. */
export function undoable(text: string, undo: () => void, done: () => void): void {
  show({ text, bad: false, undo, done }, 8000);
}

export function dismiss({ key, undo, done }: Notice, undone = false): void {
  notices.value = notices.value.filter((one) => one.key !== key);
  (undone ? undo : done)?.();
}

/** Runs an action and shows its error, if it has one. */
export async function attempt<T>(action: () => Promise<T>): Promise<T | null> {
  try {
    return await action();
  } catch (error) {
    notify(error instanceof Error ? error.message : String(error), true);
    return null;
  }
}
