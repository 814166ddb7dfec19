// "How to misread a map": the classic traps, after Wattenberg, Viégas and Johnson,
// "How to Use t-SNE Effectively", Distill 2016.

import type { Value } from "./types";

export interface Handle {
  /** Whether the slider changes the method or the data. */
  of: "method" | "data";
  name: string;
  label: string;
  min: number;
  max: number;
  step: number;
  log?: boolean;
}

export interface Step {
  title: string;
  text: string;
  /** What to try, and what it teaches. */
  task: string;
  moral: string;
  toy: string;
  values: Record<string, number>;
  method: string;
  parameters: Record<string, Value>;
  handle: Handle;
}

const perplexity: Handle = {
  of: "method",
  name: "perplexity",
  label: "perplexity",
  min: 2,
  max: 90,
  step: 1,
  log: true,
};

export const LESSON: readonly Step[] = [
  {
    title: "A parameter makes the picture",
    text: "Three clusters, well apart in ten dimensions. t-SNE asks how many neighbours each object should care about: the perplexity.",
    task: "Move the perplexity from 2 to 90. At which values do you see three groups, and at which many crumbs?",
    moral: "One map is one choice of a parameter. Look at several before you believe any of them.",
    toy: "clusters",
    values: { n: 240, gap: 12 },
    method: "TSNE",
    parameters: { perplexity: 2, random_state: 0 },
    handle: perplexity,
  },
  {
    title: "The size of a cluster says nothing",
    text: "The far cluster is now much wider than the other two. t-SNE adapts to the density around each object.",
    task: "Change the true width of the far cluster. Does its size on the map follow?",
    moral: "Dense clusters are spread out, sparse ones are drawn together. Do not compare sizes on the map.",
    toy: "clusters",
    values: { n: 240, gap: 15, ratio: 5 },
    method: "TSNE",
    parameters: { perplexity: 30, random_state: 0 },
    handle: {
      of: "data",
      name: "ratio",
      label: "true width of the far cluster",
      min: 0.2,
      max: 10,
      step: 0.1,
      log: true,
    },
  },
  {
    title: "Nor does the distance between clusters",
    text: "Two clusters are neighbours; the third is five times as far away.",
    task: "Find a perplexity at which the map shows that one cluster is far away. Then find one at which all three look equally far.",
    moral:
      "t-SNE keeps neighbours, not distances between groups. To see those, look at PCA or MDS beside it.",
    toy: "clusters",
    values: { n: 300, gap: 6 },
    method: "TSNE",
    parameters: { perplexity: 10, random_state: 0 },
    handle: perplexity,
  },
  {
    title: "Noise does not look like noise",
    text: "One cloud, the same in all directions. There is nothing to find in these data.",
    task: "Start at a perplexity of 2 and look at the little groups. Raise it until they are gone.",
    moral: "Groups at a low perplexity can be pure chance. The quality panel and other seeds tell more.",
    toy: "gaussian",
    values: { n: 400, dimension: 50 },
    method: "TSNE",
    parameters: { perplexity: 2, random_state: 0 },
    handle: perplexity,
  },
  {
    title: "Pinched shapes mean: not finished",
    text: "The same digits, stopped after a few iterations.",
    task: "Give it more iterations. When does the picture stop changing?",
    moral: "Watch the loss curve. A map whose loss still falls is not a result.",
    toy: "digits",
    values: { n: 900 },
    method: "TSNE",
    parameters: { max_iter: 60, random_state: 0 },
    handle: { of: "method", name: "max_iter", label: "iterations", min: 50, max: 1000, step: 10, log: true },
  },
  {
    title: "Another seed, another picture",
    text: "A random walk in ten dimensions has no clusters and no loops.",
    task: "Change the seed. What stays the same, and what does not?",
    moral:
      "Read only what survives other seeds. In the quality panel, “Run again with other seeds” colours each object by how far it moves.",
    toy: "random_walk",
    values: { n: 300 },
    method: "TSNE",
    parameters: { perplexity: 15, random_state: 0, init: "random" },
    handle: { of: "method", name: "random_state", label: "seed", min: 0, max: 20, step: 1 },
  },
  {
    title: "Shortcuts tear the sheet",
    text: "Isomap unrolls the Swiss roll along its neighbours. With too many of them, paths jump from one layer to the next.",
    task: "Raise the number of neighbours until the sheet collapses.",
    moral: "Each method has an assumption. Here it is that neighbours in space are neighbours on the sheet.",
    toy: "swiss_roll",
    values: { n: 700, noise: 0.3 },
    method: "Isomap",
    parameters: { n_neighbors: 8 },
    handle: { of: "method", name: "n_neighbors", label: "neighbours", min: 4, max: 60, step: 1, log: true },
  },
];
