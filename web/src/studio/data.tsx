// The data: open a file, drop one, or make a classic set; then the columns and their roles.

import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import type { JSX } from "preact";
import * as api from "./api";
import { Histogram } from "./charts";
import { Button, Icon, Section, Select, Slider, Switch } from "./controls";
import { bytes, count, number, plural } from "./format";
import * as state from "./state";
import { ToyPicture } from "./toys";
import type { Column, Dataset, FileEntry, Role, Toy } from "./types";

export function DataPanel(): JSX.Element {
  const data = state.dataset.value;
  const adding = useSignal(false);
  return (
    <Section
      title="Data"
      aside={
        data && (
          <Button
            kind="quiet"
            icon={adding.value ? "close" : "upload"}
            label={adding.value ? "Close" : "Open"}
            onClick={() => (adding.value = !adding.value)}
          />
        )
      }
    >
      {(!data || adding.value) && <Sources done={() => (adding.value = false)} />}
      {data && !adding.value && <DatasetCard data={data} />}
    </Section>
  );
}

function DatasetCard({ data }: { data: Dataset }): JSX.Element {
  const others = [...state.datasets.value.values()];
  return (
    <div class="stack">
      <div class="row">
        {others.length > 1 ? (
          <Select
            label="Data set"
            hideLabel
            value={data.id}
            options={others.map((one): [string, string] => [one.id, one.name])}
            onChange={state.showDataset}
          />
        ) : (
          <strong class="name">{data.name}</strong>
        )}
        <span class="space" />
        <Button
          kind="quiet"
          icon="trash"
          label={`Remove ${data.name}`}
          hideLabel
          onClick={() =>
            confirm(`Remove ${data.name} and all its maps?`) && void state.removeDataset(data.id)
          }
        />
      </div>
      <p class="facts">
        {plural(data.n, "object")} · {data.d === null ? "distances" : plural(data.d, "feature")}
        {data.images && ` · images ${data.images.shape.slice(0, 2).join(" × ")}`}
      </p>
      {data.d !== null && (
        <Switch
          label="Standardise features"
          value={data.standardize}
          onChange={(standardize) => void state.changeDataset(data.id, { standardize })}
        />
      )}
      {data.columns.some((column) => column.missing > 0 && column.role === "feature") && (
        <Select
          label="Missing values"
          value={data.missing ?? "mean"}
          options={MISSING}
          onChange={(missing) => void state.changeDataset(data.id, { missing })}
        />
      )}
      <details>
        <summary>Columns ({count(data.columns.length + (data.more ?? 0))})</summary>
        <ul class="columns">
          {data.columns.map((column) => (
            <ColumnRow key={column.name} data={data} column={column} />
          ))}
        </ul>
        {data.d !== null && <ImageShape data={data} />}
        {data.notes?.map((note) => (
          <p key={note} class="help">
            {note}
          </p>
        ))}
        {Boolean(data.more) && <p class="help">And {count(data.more ?? 0)} more, all used as features.</p>}
      </details>
    </div>
  );
}

const MISSING = [
  ["mean", "Replace by the mean"],
  ["drop", "Leave such objects out"],
  ["error", "Refuse to run"],
] as const;

/** Height and width, if the features are the pixels of images. */
function ImageShape({ data }: { data: Dataset }): JSX.Element {
  const id = useId();
  const change = (text: string): void => {
    const sides = text.match(/\d+/g)?.map(Number) ?? [];
    void state.changeDataset(data.id, { images: sides.length > 1 ? { shape: sides } : null });
  };
  return (
    <div class="field">
      <label for={id}>The features are pixels of images</label>
      <input
        id={id}
        type="text"
        placeholder="height × width, or empty"
        value={data.images?.shape.join(" × ") ?? ""}
        onChange={(event) => change(event.currentTarget.value)}
      />
    </div>
  );
}

const ROLES: readonly (readonly [Role, string])[] = [
  ["feature", "Feature"],
  ["label", "Label"],
  ["id", "Name"],
  ["ignore", "Ignored"],
];

function ColumnRow({ data, column }: { data: Dataset; column: Column }): JSX.Element {
  const range =
    column.low !== undefined && column.high !== undefined
      ? `${number(column.low)} to ${number(column.high)}`
      : plural(column.distinct, "value");
  const missing = column.missing ? `, ${count(column.missing)} missing` : "";
  const bars = column.histogram ?? column.top?.map(([, times]) => times);
  const roles = column.role === "image" ? ([...ROLES, ["image", "Image"]] as const) : ROLES;
  return (
    <li>
      <div>
        <bdi>{column.name}</bdi>
        <small>
          {range}
          {missing}
        </small>
      </div>
      {bars && bars.length > 0 && <Histogram counts={bars} label={`Histogram of ${column.name}, ${range}`} />}
      <Select
        label={`Role of ${column.name}`}
        hideLabel
        value={column.role}
        options={roles}
        onChange={(role) => void state.changeDataset(data.id, { roles: { [column.name]: role } })}
      />
    </li>
  );
}

/** Ways to get data: a file, or a classic set with its sliders. */
function Sources({ done }: { done: () => void }): JSX.Element {
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
function Files({ done }: { done: () => void }): JSX.Element {
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
    <details onToggle={(event) => event.currentTarget.open && !here && void look("")}>
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

/** The first screen: what this is, and data to start with. */
export function Welcome(): JSX.Element {
  const open = (toy: Toy): void => void state.openDataset({ toy: toy.name, values: {} });
  return (
    <div class="welcome">
      <h1>Watch your data become a map</h1>
      <p>Choose a data set, press Run, and see the points find their places. Nothing leaves this computer.</p>
      <div class="row wide">
        <FilePicker done={() => undefined} />
        <button type="button" class="card lesson-card" onClick={() => (state.lessonStep.value = 0)}>
          <Icon name="book" />
          <span>
            <strong>How to misread a map</strong>
            <small>A guided lesson: the classic traps, with your own hand on the slider.</small>
          </span>
        </button>
      </div>
      <h2>Or start with a classic set</h2>
      <ul class="toys">
        {state.toys.value.map((toy) => (
          <li key={toy.name}>
            <button type="button" class="card" onClick={() => open(toy)} title={toy.about}>
              <ToyPicture name={toy.name} />
              <strong>{toy.title}</strong>
              <small>{toy.about}</small>
            </button>
          </li>
        ))}
      </ul>
    </div>
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
