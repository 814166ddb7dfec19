// How many points are drawn while a view moves, so that pictures follow each other quickly.

const SLOW = 50; // milliseconds between pictures; above it fewer points are drawn
const FAST = 20;
const IDLE = 500; // milliseconds; a longer pause says nothing about the speed of drawing
const LEAST = 50_000; // points that are always drawn
const SETTLED = 160; // milliseconds after the last move until all points are drawn again

export class Pace {
  budget = Infinity; // points that are drawn while the view moves
  moving = false;
  #last = 0;
  #timer = 0;

  /** The view was moved; `settle` is called when it has come to rest. */
  moved(settle: () => void): void {
    this.moving = true;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => {
      this.moving = false;
      settle();
    }, SETTLED);
  }

  /** A picture with some points was drawn, while the view moves or not. */
  drew(points: number, moves: boolean): void {
    const now = performance.now();
    const since = now - this.#last;
    this.#last = now;
    if (!moves || since > IDLE) return;
    if (since > SLOW) this.budget = Math.max(LEAST, (points * SLOW * 0.7) / since);
    else if (since < FAST) this.budget *= 1.3;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
