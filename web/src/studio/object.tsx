// One object: its record, its image, its neighbours in the data.

import type { JSX } from "preact";
import { Button, Empty, Section } from "./controls";
import { number, shownValue } from "./format";
import { nameOf } from "./names";
import { ALIKE, neighbors, pick, record, selectAlike } from "./picking";
import * as state from "./state";

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
