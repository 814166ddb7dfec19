// One object: its record, its image, its neighbours in the data.

import type { JSX } from "preact";
import { Annotate } from "./annotation";
import { reliabilityOf } from "./colors";
import { Button, Empty, Section } from "./controls";
import { number, shownValue } from "./format";
import { nameOf } from "./names";
import { ALIKE, neighbors, pick, record, selectAlike } from "./picking";
import { Differences } from "./selection";
import * as state from "./state";
import type { MapInfo } from "./types";

const STANDS_APART = 1.5; // times the distances of the neighbours to theirs

export function ObjectPanel(): JSX.Element {
  const picked = state.picked.value;
  const found = record.value;
  const map = state.active.value;
  if (!picked || !map)
    return (
      <Empty icon="search" title="No object chosen">
        Click a point to see its record and, as lines, its true neighbours in the data.
      </Empty>
    );
  const near = neighbors.value?.row === picked.row ? neighbors.value : null;
  const data = state.datasets.value.get(picked.dataset);
  return (
    <Section
      title={nameOf(picked.dataset, picked.row)}
      aside={<Button kind="quiet" label="Clear" onClick={() => pick(map, -1)} />}
    >
      {found?.row === picked.row && (
        <>
          {found.image && (
            <img class="portrait" src={found.image} alt={`Image of ${nameOf(picked.dataset, picked.row)}`} />
          )}
          {found.label !== null && (
            <p>
              Label: <strong>{found.label}</strong>
            </p>
          )}
        </>
      )}
      <Annotate key={picked.row} dataset={picked.dataset} rows={[picked.row]} />
      <Trust map={map} point={state.pointOf(map, picked.row)} />
      {near?.apart && (
        <p>
          {near.apart >= STANDS_APART ? "It stands apart" : "It does not stand apart"} in the data: its{" "}
          {near.rows.length} nearest reach {near.apart.toFixed(1)} times as far as theirs.
        </p>
      )}
      {near && (
        <>
          <h3>Nearest in the data</h3>
          <Button
            icon="lasso"
            label={`Select the ${ALIKE} most alike`}
            onClick={() => selectAlike(map, picked.row)}
          />
          <ul class="neighbours">
            {near.rows.map((row, k) => (
              <li key={row}>
                <button type="button" onClick={() => pick(map, row)}>
                  {data?.images && (
                    <img src={`/api/datasets/${data.id}/images/${row}`} alt="" loading="lazy" />
                  )}
                  <span>{nameOf(picked.dataset, row)}</span>
                  <small>{number(near.distances[k])}</small>
                </button>
              </li>
            ))}
          </ul>
          {near.contrast.length > 0 && (
            <>
              <h3>What distinguishes it from them</h3>
              <Differences list={near.contrast} heads={["here", "they"]} />
            </>
          )}
        </>
      )}
      {found?.row === picked.row && (
        <table class="record">
          <tbody>
            {found.values.slice(0, 40).map(([name, value]) => (
              <tr key={name}>
                <th scope="row">
                  <bdi>{name}</bdi>
                </th>
                <td>{shownValue(value)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Section>
  );
}

/** Whether the place of an object can be believed. */
function Trust({ map, point }: { map: MapInfo; point: number }): JSX.Element | null {
  const found = point < 0 ? null : reliabilityOf(map, point);
  if (!found) return null;
  return (
    <p>
      Reliability of its place on {state.titleOf(map)}: <strong>{found.value.toFixed(2)}</strong>; half of the
      objects have {found.middle.toFixed(2)} or more.
      {found.value < 0.5 && " Most of its neighbours here are not its neighbours in the data."}
    </p>
  );
}
