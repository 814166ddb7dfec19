// The guided lesson: each step makes its data and map, and gives the reader a slider.

import { effect, signal, untracked } from "@preact/signals";
import type { JSX } from "preact";
import { Button, Slider } from "./controls";
import { LESSON, type Step } from "./lesson-steps";
import * as state from "./state";
import type { Value } from "./types";

const setting = signal<number | null>(null); // where the slider is
let made: { dataset: string; map: string } | null = null;
let turn = 0;

let work = Promise.resolve();

/** Makes the data and the map of a step after those asked for before, and only if no others were since. */
function show(step: Step, value: number, keepData: boolean): void {
  const mine = ++turn;
  work = work.then(() => (mine === turn ? replace(step, value, keepData) : undefined));
}

/** Makes the data and the map of a step, and removes those before. */
async function replace(step: Step, value: number, keepData: boolean): Promise<void> {
  const before = made;
  const { handle } = step;
  const values = handle.of === "data" ? { ...step.values, [handle.name]: value } : step.values;
  const parameters: Record<string, Value> =
    handle.of === "method" ? { ...step.parameters, [handle.name]: value } : step.parameters;
  const keeps =
    keepData && handle.of === "method" && before !== null && state.datasets.value.has(before.dataset);
  const dataset = keeps ? before.dataset : (await state.openDataset({ toy: step.toy, values }))?.id;
  if (!dataset) return;
  state.methodName.value = step.method;
  state.forms.value = new Map(state.forms.value).set(step.method, parameters);
  const map = await state.embed({ dataset, method: step.method, parameters });
  made = { dataset, map: map?.id ?? "" };
  if (!before) return;
  if (before.dataset !== dataset) await state.remove("datasets", before.dataset);
  else if (before.map) await state.remove("maps", before.map);
}

let waiting = 0;

function turnTo(step: Step, value: number): void {
  setting.value = value;
  const map = made && state.maps.value.get(made.map);
  const { handle } = step;
  if (map && handle.of === "method" && map.status === "running" && map.live.includes(handle.name)) {
    void state.tune(map, { parameters: { [handle.name]: value } });
    return;
  }
  clearTimeout(waiting);
  waiting = window.setTimeout(() => show(step, value, true), 200);
}

const startOf = (step: Step): number => {
  const { of, name } = step.handle;
  return Number((of === "method" ? step.parameters : step.values)[name]);
};

effect(() => {
  const place = state.lessonStep.value;
  if (!state.ready.value) return;
  untracked(() => {
    if (place === null) {
      if (made) state.forms.value = new Map(); // the values of the lesson are odd ones on purpose
      made = null;
      return;
    }
    const step = LESSON[place];
    state.compare.value = false;
    setting.value = startOf(step);
    show(step, startOf(step), false);
  });
});

export function Lesson(): JSX.Element | null {
  const place = state.lessonStep.value;
  if (place === null) return null;
  const step = LESSON[place];
  const { handle } = step;
  const again = (): void => show(step, setting.value ?? startOf(step), true);
  return (
    <section class="lesson" aria-label="Lesson: how to misread a map">
      <header>
        <small>
          How to misread a map · {place + 1} of {LESSON.length}
        </small>
        <Button
          kind="quiet"
          icon="close"
          label="Leave the lesson"
          hideLabel
          onClick={() => (state.lessonStep.value = null)}
        />
      </header>
      <div class="pages">
        <div>
          <h2>{step.title}</h2>
          <p>{step.text}</p>
          <p class="moral">{step.moral}</p>
        </div>
        <div>
          <p>
            <strong>Try:</strong> {step.task}
          </p>
          <Slider
            label={handle.label}
            min={handle.min}
            max={handle.max}
            step={handle.step}
            log={handle.log ?? false}
            value={setting.value ?? startOf(step)}
            onInput={(value) => turnTo(step, value)}
          />
          <div class="row">
            <Button
              kind="quiet"
              label="Back"
              disabled={place === 0}
              onClick={() => (state.lessonStep.value = place - 1)}
            />
            <Button kind="quiet" icon="reset" label="Run again" onClick={again} />
            <span class="space" />
            {place + 1 < LESSON.length ? (
              <Button kind="primary" label="Next" onClick={() => (state.lessonStep.value = place + 1)} />
            ) : (
              <Button kind="primary" label="Finish" onClick={() => (state.lessonStep.value = null)} />
            )}
          </div>
        </div>
      </div>
    </section>
  );
}
