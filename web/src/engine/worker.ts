// Runs the engine beside the page, so that the page stays live; client.ts talks to it.

import {
  Engine,
  type MdsOptions,
  type Quality,
  type Table,
  type TsneOptions,
  type UmapOptions,
} from "./engine";

/** A method with its options; "classical" takes dissimilarities. */
export type Method =
  | { name: "pca" | "classical" }
  | ({ name: "tsne" } & TsneOptions)
  | ({ name: "umap" } & UmapOptions)
  | ({ name: "mds" } & MdsOptions);

export interface Task {
  table: Table;
  method: Method;
}

export type Answer =
  | { iteration: number; embedding: Float64Array }
  | { embedding: Float64Array; quality: Quality | null; seconds: number }
  | { error: string };

let engine: Promise<Engine>;

const answer = (message: Answer): void => postMessage(message);

function embed(engine: Engine, { table, method }: Task): Float64Array {
  let shown = performance.now();
  const report = (iteration: number, embedding: Float64Array): void => {
    if (performance.now() - shown < 100) return;
    shown = performance.now();
    answer({ iteration, embedding: embedding.slice() });
  };
  switch (method.name) {
    case "pca":
      return engine.pca(table).embedding;
    case "classical":
      return engine.classicalMds(table);
    case "tsne":
      return engine.tsne(table, 2, method, report);
    case "umap":
      return engine.umap(table, 2, method, report);
    case "mds":
      return engine.mds(table, 2, method, report).embedding;
  }
}

addEventListener("message", async ({ data }: MessageEvent<WebAssembly.Module | Task>) => {
  if (data instanceof WebAssembly.Module) {
    engine = Engine.load(data);
    return;
  }
  try {
    const began = performance.now();
    const embedding = embed(await engine, data);
    const seconds = (performance.now() - began) / 1000;
    const { method, table } = data;
    const precomputed = method.name === "classical" || (method.name === "mds" && method.precomputed);
    const quality = precomputed ? null : (await engine).quality(table, embedding);
    answer({ embedding, quality, seconds });
  } catch (error) {
    answer({ error: error instanceof Error ? error.message : String(error) });
  }
});
