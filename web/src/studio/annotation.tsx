// What the reader writes on objects.

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { JSX } from "preact";
import { Button } from "./controls";
import { NOTES } from "./colors";
import * as state from "./state";

/** A field that writes a text on objects; it shows what is written on a single one. */
export function Annotate({ dataset, rows }: { dataset: string; rows: ArrayLike<number> }): JSX.Element {
  const id = useId();
  const notes = state.datasets.value.get(dataset)?.annotations ?? {};
  const written = rows.length === 1 ? (notes[rows[0]] ?? "") : "";
  const draft = useSignal<string | null>(null);
  const save = (): void => {
    void state.annotate(dataset, rows, draft.value ?? written);
    if (rows.length > 1) state.colorBy.value = NOTES;
    draft.value = null;
  };
  return (
    <form
      class="annotate"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <label for={id}>Annotation</label>
      <input
        id={id}
        type="text"
        maxLength={200}
        value={draft.value ?? written}
        placeholder={rows.length > 1 ? "What they are" : "What it is"}
        onInput={(event) => (draft.value = event.currentTarget.value)}
      />
      <Button label="Write" onClick={save} />
    </form>
  );
}
