// Mouse, touch, pen and keys on a view.

import type { Scatter } from "./view";

export type Mode = "move" | "lasso" | "pin" | "decode";

const STILL = 4; // CSS pixels that a pointer may move and still click
const KEY_STEP = 0.06; // of the canvas

interface Pointer {
  x: number;
  y: number;
}

/** Listens on the view's upper canvas; returns how to stop. */
export function listen(view: Scatter, canvas: HTMLCanvasElement): () => void {
  const down = new Map<number, Pointer>();
  let start: Pointer | null = null;
  let lasso: [number, number][] | null = null;
  let path: [number, number][] = []; // of places that are decoded
  let carried = -1; // the point that is dragged
  let moved = false;
  const gone = new AbortController();
  const on = <K extends keyof HTMLElementEventMap>(
    name: K,
    listener: (event: HTMLElementEventMap[K]) => void,
    passive = true,
  ): void => canvas.addEventListener(name, listener as EventListener, { signal: gone.signal, passive });

  const locate = (event: MouseEvent): Pointer => {
    const box = canvas.getBoundingClientRect();
    return { x: (event.clientX - box.left) / box.width, y: (event.clientY - box.top) / box.height };
  };
  const far = (a: Pointer, b: Pointer): number =>
    Math.hypot((a.x - b.x) * canvas.clientWidth, (a.y - b.y) * canvas.clientHeight);

  on("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    const here = locate(event);
    down.set(event.pointerId, here);
    start = here;
    moved = down.size > 1;
    const selects = event.shiftKey || view.mode === "lasso";
    lasso = selects && down.size === 1 ? [[here.x, here.y]] : null;
    if (down.size > 1) view.drawLasso([]);
    view.hover(-1, event);
    carried = view.mode === "pin" && down.size === 1 && !lasso ? view.pointToCarry(here.x, here.y) : -1;
    path = [[here.x, here.y]];
    if (view.mode === "decode" && down.size === 1 && !lasso) view.decodeAt(here.x, here.y);
  });

  on("pointermove", (event) => {
    const here = locate(event);
    const before = down.get(event.pointerId);
    if (!before || !start) {
      if (event.pointerType !== "touch") view.hoverAt(here.x, here.y, event);
      return;
    }
    moved ||= far(here, start) > STILL;
    if (down.size === 2) {
      const other = [...down.entries()].find(([id]) => id !== event.pointerId)![1];
      const middle = { x: (other.x + here.x) / 2, y: (other.y + here.y) / 2 };
      view.zoomBy(Math.max(far(other, here), 1) / Math.max(far(other, before), 1), middle.x, middle.y);
      view.drag((here.x - before.x) / 2, (here.y - before.y) / 2, true);
    } else if (lasso) {
      lasso.push([here.x, here.y]);
      view.drawLasso(lasso);
    } else if (view.mode === "decode") {
      path.push([here.x, here.y]);
      view.decodeAt(here.x, here.y);
    } else if (carried >= 0) {
      if (moved) view.carry(carried, here.x, here.y);
    } else if (moved) {
      view.drag(here.x - before.x, here.y - before.y, event.ctrlKey || event.metaKey);
    }
    down.set(event.pointerId, here);
  });

  const release = (event: PointerEvent): void => {
    if (!down.delete(event.pointerId)) return;
    if (lasso) {
      view.drawLasso([]);
      if (event.type === "pointerup") view.selectInside(moved ? lasso : []);
    } else if (event.type === "pointerup" && start) {
      if (view.mode === "decode") view.decodeAlong(moved ? path : []);
      else if (!moved && carried >= 0) view.carry(carried);
      else if (!moved) view.clickAt(start.x, start.y, event);
    }
    lasso = null;
    carried = -1;
    start = down.size ? [...down.values()][0] : null;
  };
  on("pointerup", release);
  on("pointercancel", release);
  on("pointerleave", (event) => event.pointerType !== "touch" && view.hover(-1, event));
  on(
    "wheel",
    (event) => {
      if (!view.wheelAlways && document.activeElement !== canvas && !event.ctrlKey) return; // the page scrolls
      event.preventDefault();
      const here = locate(event);
      view.zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), here.x, here.y);
    },
    false,
  );
  on("dblclick", () => view.reset());
  on(
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const actions: Record<string, () => void> = {
        ArrowLeft: () => view.drag(KEY_STEP, 0),
        ArrowRight: () => view.drag(-KEY_STEP, 0),
        ArrowUp: () => view.drag(0, KEY_STEP),
        ArrowDown: () => view.drag(0, -KEY_STEP),
        "+": () => view.zoomBy(1.25),
        "=": () => view.zoomBy(1.25),
        "-": () => view.zoomBy(0.8),
        0: () => view.reset(),
        Escape: () => view.escape(),
      };
      const action = actions[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    },
    false,
  );
  return () => gone.abort();
}
