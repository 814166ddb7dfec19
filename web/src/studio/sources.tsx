// Where data come from: a file that is chosen, browsed for or dropped, or a classic set.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import * as api from "./api";
import { Button, Slider } from "./controls";
import { Icon } from "./icons";
import { bytes } from "./format";
import * as state from "./state";
import { ToyPicture } from "./toys";
import type { FileEntry, Toy } from "./types";

/** Ways to get data: a file, or a classic set with its sliders. */
export function Sources({ done }: { done: () => void }): JSX.Element {
  const chosen = useSignal<Toy | null>(null);
  const toy = chosen.value;
  if (toy) return <ToyForm toy={toy} back={() => (chosen.value = null)} done={done} />;
  return (
    <div class="stack">
      <FilePicker done={done} />
      <Files done={done} />
      <h3>Classic sets</h3>
      <ul class="toys small">
        {state.toys.value.map((one) => (
          <li key={one.name}>
            <button type="button" class="card" onClick={() => (chosen.value = one)}>
              <ToyPicture name={one.name} />
              <span>{one.title}</span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

function ToyForm({ toy, back, done }: { toy: Toy; back: () => void; done: () => void }): JSX.Element {
  const values = useSignal<Record<string, number>>({});
  const open = async (): Promise<void> => {
    if (await state.openDataset({ toy: toy.name, values: values.value })) done();
  };
  return (
    <div class="stack">
      <strong class="name">{toy.title}</strong>
      <p class="help">{toy.about}</p>
      {toy.sliders.map((slider) => (
        <Slider
          key={slider.name}
          {...slider}
          value={values.value[slider.name] ?? slider.default}
          onInput={(value) => (values.value = { ...values.value, [slider.name]: value })}
        />
      ))}
      <div class="row">
        <Button kind="primary" label="Use this set" onClick={() => void open()} />
        <Button kind="quiet" label="Back" onClick={back} />
      </div>
    </div>
  );
}

export function FilePicker({ done }: { done: () => void }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const take = async (file: File | undefined): Promise<void> => {
    if (file && (await state.openFile(file))) done();
    if (input.current) input.current.value = "";
  };
  return (
    <label class="drop">
      <Icon name="upload" />
      <span>
        <strong>Open a file</strong> or drop it anywhere
      </span>
      <small>CSV, Parquet, NumPy, HDF5, Excel, images …</small>
      <input ref={input} type="file" onChange={(event) => void take(event.currentTarget.files?.[0])} />
    </label>
  );
}

/** Files of the folder that the studio was started in. */
export function Files({ done, open: opened = false }: { done: () => void; open?: boolean }): JSX.Element {
  const listing = useSignal<{ path: string; entries: FileEntry[] } | null>(null);
  const look = async (path: string): Promise<void> => {
    const found = await state.attempt(() =>
      api.get<{ path: string; entries: FileEntry[] }>(`/api/files?path=${encodeURIComponent(path)}`),
    );
    if (found) listing.value = found;
  };
  const open = async (path: string): Promise<void> => {
    if (await state.openDataset({ path })) done();
  };
  const here = listing.value;
  const within = (name: string): string =>
    here && here.path && here.path !== "." ? `${here.path}/${name}` : name;
  const parent = here?.path && here.path !== "." ? here.path.split("/").slice(0, -1).join("/") : null;
  return (
    <details open={opened} onToggle={(event) => event.currentTarget.open && !here && void look("")}>
      <summary>
        Browse{" "}
        {state.root.value ? <bdi class="path">{state.root.value.split("/").at(-1)}</bdi> : "the folder"}
      </summary>
      <ul class="files">
        {parent !== null && (
          <li>
            <button type="button" onClick={() => void look(parent)}>
              <Icon name="folder" />
              <span>..</span>
            </button>
          </li>
        )}
        {here?.entries.map((entry) => (
          <li key={entry.name}>
            <button
              type="button"
              onClick={() => void (entry.folder ? look(within(entry.name)) : open(within(entry.name)))}
            >
              <Icon name={entry.folder ? "folder" : "file"} />
              <bdi>{entry.name}</bdi>
              {!entry.folder && <small>{bytes(entry.size)}</small>}
            </button>
          </li>
        ))}
        {here && !here.entries.length && <li class="help">Nothing here that can be read.</li>}
      </ul>
    </details>
  );
}

/** Takes files that are dropped anywhere on the page. */
export function DropTarget(): JSX.Element | null {
  const over = useSignal(false);
  useEffect(() => {
    const gone = new AbortController();
    const on = (name: "dragover" | "dragleave" | "drop", act: (event: DragEvent) => void): void =>
      window.addEventListener(name, act, { signal: gone.signal });
    on("dragover", (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      over.value = true;
    });
    on("dragleave", (event) => {
      if (!event.relatedTarget) over.value = false;
    });
    on("drop", (event) => {
      event.preventDefault();
      over.value = false;
      const file = event.dataTransfer?.files[0];
      if (file) void state.openFile(file);
    });
    return () => gone.abort();
  }, []);
  return over.value ? <div class="dropping">Drop the file to open it</div> : null;
}
