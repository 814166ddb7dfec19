// The panel of questions to the maps.

import { effect } from "@preact/signals";
import type { JSX } from "preact";
import { ColumnsPanel } from "./columns";
import { FeaturesPanel } from "./features";
import { ObjectPanel } from "./object";
import { QualityPanel } from "./quality";
import { SelectionPanel } from "./selection";
import * as state from "./state";
import { SuspectsPanel } from "./suspects";

const TABS: readonly (readonly [state.Tab, string])[] = [
  ["columns", "Columns"],
  ["point", "Object"],
  ["selection", "Selection"],
  ["features", "Features"],
  ["quality", "Quality"],
  ["suspects", "Suspects"],
];

effect(() => {
  if (state.picked.value) state.tab.value = "point";
});
effect(() => {
  if (state.selection.value) state.tab.value = "selection";
});

export function Questions(): JSX.Element {
  const move = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const place = TABS.findIndex(([name]) => name === state.tab.value);
    state.tab.value = TABS[(place + step + TABS.length) % TABS.length][0];
    document.getElementById(`tab-${state.tab.value}`)?.focus();
  };
  return (
    <div class="questions">
      <div class="tabs" role="tablist" aria-label="Questions" onKeyDown={move}>
        {TABS.map(([name, title]) => (
          <button
            key={name}
            id={`tab-${name}`}
            type="button"
            role="tab"
            aria-selected={state.tab.value === name}
            aria-controls="answers"
            tabIndex={state.tab.value === name ? 0 : -1}
            onClick={() => (state.tab.value = name)}
          >
            {title}
          </button>
        ))}
      </div>
      <div id="answers" role="tabpanel" aria-labelledby={`tab-${state.tab.value}`} tabIndex={-1}>
        {state.tab.value === "columns" && <ColumnsPanel />}
        {state.tab.value === "point" && <ObjectPanel />}
        {state.tab.value === "selection" && <SelectionPanel />}
        {state.tab.value === "features" && <FeaturesPanel />}
        {state.tab.value === "quality" && <QualityPanel />}
        {state.tab.value === "suspects" && <SuspectsPanel />}
      </div>
    </div>
  );
}
