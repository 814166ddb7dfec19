// The first screen.

import type { JSX } from "preact";
import { Icon } from "./icons";
import { FilePicker, Files } from "./sources";
import * as state from "./state";
import { ToyPicture } from "./toys";
import type { Toy } from "./types";

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
      <Files open done={() => undefined} />
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
