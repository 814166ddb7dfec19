// What can be taken away: pictures, tables, report, model, code.

import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { createRef, type ComponentChildren, type JSX } from "preact";
import * as api from "./api";
import { choice, keyOf } from "./colors";
import { Button, Select } from "./controls";
import { Icon, type IconName } from "./icons";
import { plural } from "./format";
import { views } from "./plot";
import * as state from "./state";
import type { MapInfo } from "./types";

const dialog = createRef<HTMLDialogElement>();
const isOpen = signal(false);

/** The element knows whether it is open: its event of closing may come after it was opened again. */
const follow = (): void => {
  isOpen.value = dialog.current?.open ?? false;
};

const close = (): void => dialog.current?.close();

export function openTakeAway(): void {
  dialog.current?.showModal();
  follow();
}

export function TakeAway(): JSX.Element {
  const map = state.active.value;
  return (
    <dialog
      ref={dialog}
      class="takeaway"
      aria-labelledby="takeaway-title"
      onClose={follow}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <section class="sheet" aria-labelledby="takeaway-title">
        <header>
          <h2 id="takeaway-title">Take away</h2>
          <Button kind="quiet" icon="close" label="Close" hideLabel onClick={close} />
        </header>
        {!isOpen.value ? null : map ? <Offers map={map} /> : <p>Run a method first: there is no map yet.</p>}
      </section>
    </dialog>
  );
}

const fileName = (map: MapInfo, ending: string): string =>
  `${state
    .titleOf(map)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")}.${ending}`;

function Offers({ map }: { map: MapInfo }): JSX.Element {
  const chosen = state.selection.value?.dataset === map.dataset ? state.selection.value : null;
  const shown = state.shownMaps.value;
  const picture = async (ending: "png" | "svg"): Promise<void> => {
    const view = views.get(map.id);
    if (!view) return;
    const key = keyOf(map);
    if (ending === "png") api.download(await view.png(key), fileName(map, "png"));
    else api.download(new Blob([view.svg(key)], { type: "image/svg+xml" }), fileName(map, "svg"));
  };
  const fetched = async (kind: string, ending: string): Promise<void> =>
    api.download(await api.blobOf(`/api/maps/${map.id}/export/${kind}`), fileName(map, ending));
  const selected = async (format: "csv" | "parquet"): Promise<void> => {
    const points = [...(chosen?.rows ?? [])]
      .map((row) => state.pointOf(map, row))
      .filter((point) => point >= 0);
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body: JSON.stringify({ points, format }) };
    api.download(await api.blobOf(`/api/maps/${map.id}/export/selection`, init), `selection.${format}`);
  };
  const ended = state.settled(map);
  const legend = useSignal("map");
  const figure = (kind: string): string => {
    const shows = [state.showRegions.value && "&show=regions", state.showTrust.value && "&show=trust"];
    const asked = `legend=${legend.value}&color=${encodeURIComponent(choice.value)}`;
    return `figure.${kind}?${asked}${shows.filter(Boolean).join("")}`;
  };
  return (
    <div class="stack">
      {shown.length > 1 && (
        <Select
          label="Map"
          value={map.id}
          options={shown.map((one): [string, string] => [one.id, state.titleOf(one)])}
          onChange={(id) => (state.activeId.value = id)}
        />
      )}
      <ul class="offers">
        <Offer
          icon="map"
          title="Picture"
          note="The view as it is on the screen"
          choices={[
            ["PNG", () => picture("png")],
            ["SVG", () => picture("svg")],
          ]}
        />
        <Offer
          icon="file"
          title="Figure for a paper"
          note="All objects, drawn by lowdim.plot; text stays text"
          ready={ended}
          choices={[
            ["PDF", () => fetched(figure("pdf"), "pdf")],
            ["SVG", () => fetched(figure("svg"), "svg")],
          ]}
        >
          <Select
            label="Legend"
            hideLabel
            value={legend.value}
            options={LEGENDS}
            onChange={(where) => (legend.value = where)}
          />
        </Offer>
        <Offer
          icon="data"
          title="Coordinates"
          note="One row per object"
          ready={ended}
          choices={[
            ["CSV", () => fetched("csv", "csv")],
            ["Parquet", () => fetched("parquet", "parquet")],
          ]}
        />
        <Offer
          icon="lasso"
          title="Selection"
          note={chosen ? plural(chosen.rows.length, "object") : "Select objects on a map first"}
          ready={ended && chosen !== null}
          choices={[
            ["CSV", () => selected("csv")],
            ["Parquet", () => selected("parquet")],
          ]}
        />
        <Offer
          icon="book"
          title="Report"
          note="One HTML file that needs no network"
          ready={ended}
          choices={[["HTML", () => fetched(`report?maps=${shown.map((one) => one.id).join()}`, "html")]]}
        />
        <Offer
          icon="sliders"
          title="Model"
          note="For lowdim.load; places new objects"
          ready={ended}
          choices={[["Model", () => fetched("model", "lowdim")]]}
        />
      </ul>
      <Code map={map} />
    </div>
  );
}

const LEGENDS = [
  ["map", "Names on the map"],
  ["inside", "Legend inside"],
  ["beside", "Legend beside"],
  ["none", "No legend"],
] as const;

interface OfferProps {
  icon: IconName;
  title: string;
  note: string;
  ready?: boolean;
  choices: [string, () => Promise<void>][];
  children?: ComponentChildren;
}

function Offer({ icon, title, note, ready = true, choices, children }: OfferProps): JSX.Element {
  return (
    <li>
      <Icon name={icon} />
      <span>
        <strong>{title}</strong>
        <small>{note}</small>
      </span>
      {children}
      {choices.map(([label, act]) => (
        <Button
          key={label}
          icon="download"
          label={label}
          disabled={!ready}
          onClick={() => void state.attempt(act)}
        />
      ))}
    </li>
  );
}

/** The Python code and the command line that make this map again. */
function Code({ map }: { map: MapInfo }): JSX.Element {
  const texts = useSignal<Record<string, string>>({});
  useEffect(() => {
    for (const kind of ["python", "command"]) {
      void state.attempt(async () => {
        const text = await (await api.blobOf(`/api/maps/${map.id}/export/${kind}`)).text();
        texts.value = { ...texts.value, [kind]: text };
      });
    }
  }, [map.id]);
  return (
    <>
      {[
        ["python", "Python"],
        ["command", "Command line"],
      ].map(([kind, title]) => (
        <div key={kind} class="code">
          <header>
            <h3>{title}</h3>
            <Button kind="quiet" label={`Copy ${title}`} onClick={() => void copy(texts.value[kind] ?? "")} />
          </header>
          <pre tabIndex={0}>{texts.value[kind] ?? "…"}</pre>
        </div>
      ))}
    </>
  );
}

async function copy(text: string): Promise<void> {
  await state.attempt(() => navigator.clipboard.writeText(text));
  state.notify("Copied.");
}
