// The transport of a map: pause, step, speed, rewind, progress and loss.

import type { JSX } from "preact";
import { LossCurve } from "./charts";
import { Button, Select } from "./controls";
import { count, duration } from "./format";
import * as state from "./state";
import type { MapInfo } from "./types";

const SPEEDS = [
  ["25", "slow"],
  ["150", "normal"],
  ["null", "full speed"],
] as const;

function speed(map: MapInfo, text: string): void {
  state.pace.value = JSON.parse(text) as number | null;
  void state.tune(map, { pace: state.pace.value });
}

const PHASES: Record<string, string> = { start: "starting", neighbours: "finding neighbours" };

function lossesOf(map: MapInfo): [number, number][] {
  return map.losses.map((one, k): [number, number] => (Array.isArray(one) ? one : [k, one]));
}

export function Transport({ map }: { map: MapInfo }): JSX.Element {
  const busy = state.computing(map) || map.status === "paused";
  const rewound = state.rewindOf(map.id);
  const last = Math.max(map.frames - 1, 0);
  const go = (frame: number): void => (frame >= last ? state.showNewest(map) : state.rewind(map, frame));
  const total = map.total ? ` / ${count(map.total)}` : "";
  const left =
    map.status === "running" && map.seconds_left !== null ? `, ${duration(map.seconds_left)} left` : "";
  return (
    <footer class="transport">
      {busy && (
        <div class="pair">
          {map.status === "running" ? (
            <Button icon="pause" label="Pause" hideLabel onClick={() => void state.command(map, "pause")} />
          ) : (
            <Button
              icon="play"
              label="Continue"
              hideLabel
              disabled={map.status === "queued"}
              onClick={() => void state.command(map, "continue")}
            />
          )}
          <Button
            icon="step"
            label="Single step"
            hideLabel
            disabled={map.status === "queued"}
            onClick={() => void state.command(map, "step")}
          />
          <Button icon="stop" label="Stop" hideLabel onClick={() => void state.command(map, "stop")} />
        </div>
      )}
      {busy && (
        <Select
          label="Speed"
          hideLabel
          value={String(map.pace ?? null)}
          options={SPEEDS}
          onChange={(text) => speed(map, text)}
        />
      )}
      {map.frames > 1 && (
        <label class="rewind">
          <span class="unseen">Rewind {state.titleOf(map)}</span>
          <input
            type="range"
            min={0}
            max={last}
            step={1}
            value={rewound.value && rewound.value.frame >= 0 ? rewound.value.frame : last}
            aria-valuetext={rewound.value ? `snapshot ${rewound.value.frame}` : "newest"}
            onInput={(event) => go(event.currentTarget.valueAsNumber)}
          />
        </label>
      )}
      <span class="progress" role="status">
        {rewound.value ? (
          rewound.value.frame === state.OTHER_SEED ? (
            "another seed"
          ) : (
            `iteration ${count(map.snapshots?.[rewound.value.frame] ?? rewound.value.frame)}`
          )
        ) : map.status === "queued" ? (
          "waiting for its turn"
        ) : map.phase && map.phase !== "fit" ? (
          (PHASES[map.phase] ?? map.phase)
        ) : (
          <>
            {map.iteration > 0 && `${count(map.iteration)}${total} iterations, `}
            {duration(map.seconds)}
            {left}
          </>
        )}
      </span>
      <LossCurve losses={lossesOf(map)} label={`Loss of ${state.titleOf(map)}`} />
    </footer>
  );
}
