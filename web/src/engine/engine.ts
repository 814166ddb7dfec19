// The methods of lowdim in WebAssembly, without Python: the typed form of cpp/wasm/engine.cpp.
// The same data, seed and parameters give the same bits as in Python.

/** Numbers row by row. */
export interface Table {
  values: Float64Array;
  rows: number;
  columns: number;
}

export interface TsneOptions {
  perplexity?: number;
  maxIter?: number;
  earlyExaggeration?: number;
  init?: "pca" | "random";
  seed?: number;
}

export interface UmapOptions {
  neighbors?: number;
  minDist?: number;
  epochs?: number;
  seed?: number;
}

export interface MdsOptions {
  /** The table is a square matrix of dissimilarities. */
  precomputed?: boolean;
  maxIter?: number;
}

export interface Quality {
  rnxAuc: number;
  trustworthiness: number;
  continuity: number;
}

/** Called during a fit, with the number of iterations and the coordinates, which are lent. */
export type Report = (iteration: number, embedding: Float64Array) => void;

/** The exact search for neighbours takes too long for more. */
export const MOST_ROWS = 10_000;
/** Of metric MDS, which keeps all distances in memory. */
export const MOST_ROWS_MDS = 4_000;
const MOST_PRODUCTS = 2_000; // the smaller of rows and columns, for principal components

interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  allocate(bytes: number): number;
  release(memory: number): void;
  neighbors(X: number, n: number, d: number, k: number, ids: number, lengths: number): void;
  pca(X: number, n: number, d: number, dim: number, Y: number, variances: number): void;
  classical_mds(D: number, n: number, dim: number, Y: number): void;
  mds(X: number, n: number, d: number, precomputed: boolean, dim: number, maxIter: number, Y: number): number;
  tsne(
    ...parameters: [
      ...[X: number, n: number, d: number, dim: number, perplexity: number, maxIter: number],
      ...[earlyExaggeration: number, random: boolean, seed: number, Y: number],
    ]
  ): void;
  umap(
    ...parameters: [
      ...[X: number, n: number, d: number, dim: number, neighbors: number, minDist: number],
      ...[epochs: number, seed: number, Y: number],
    ]
  ): void;
  quality(X: number, n: number, d: number, Y: number, dim: number, k: number, out: number): void;
}

export class Engine {
  readonly #exports: Exports;
  #report: Report | null = null;
  #size = 0; // numbers of a map

  private constructor(instance: (imports: WebAssembly.Imports) => WebAssembly.Instance) {
    const report = (iteration: number, embedding: number): void =>
      this.#report?.(iteration, this.#view(embedding, this.#size));
    const exit = (): never => {
      throw new Error("The computation needs more memory than WebAssembly has.");
    };
    const made = instance({
      env: { report, emscripten_notify_memory_growth: () => {} },
      wasi_snapshot_preview1: { proc_exit: exit },
    });
    this.#exports = made.exports as unknown as Exports;
    this.#exports._initialize();
  }

  static async load(module: BufferSource | WebAssembly.Module): Promise<Engine> {
    const compiled = module instanceof WebAssembly.Module ? module : await WebAssembly.compile(module);
    return new Engine((imports) => new WebAssembly.Instance(compiled, imports));
  }

  /** The k nearest other rows of each row, by (distance, index). */
  neighbors(X: Table, k: number): { indices: Int32Array; distances: Float64Array } {
    check(X);
    within("the number of neighbours", k, 1, X.rows - 1);
    return this.#with([X.values.length, X.rows * k, X.rows * k], ([data, ids, lengths]) => {
      this.#write(data!, X.values);
      this.#exports.neighbors(data!, X.rows, X.columns, k, ids!, lengths!);
      const indices = new Int32Array(this.#exports.memory.buffer, ids, X.rows * k).slice();
      return { indices, distances: this.#view(lengths!, X.rows * k).slice() };
    });
  }

  /** Principal components, and the share of the variance along each. */
  pca(X: Table, dim = 2): { embedding: Float64Array; shares: number[] } {
    check(X);
    return this.#with([X.values.length, X.rows * dim, dim + 1], ([data, map, variances]) => {
      this.#write(data!, X.values);
      this.#exports.pca(data!, X.rows, X.columns, dim, map!, variances!);
      const [...sizes] = this.#view(variances!, dim + 1);
      const total = sizes.pop()!;
      return {
        embedding: this.#view(map!, X.rows * dim).slice(),
        shares: sizes.map((size) => (total > 0 ? size / total : 0)),
      };
    });
  }

  /** Classical scaling of a square matrix of dissimilarities. */
  classicalMds(D: Table, dim = 2): Float64Array {
    checkDissimilarities(D);
    return this.#map(D, dim, null, (data, map) => this.#exports.classical_mds(data, D.rows, dim, map));
  }

  /** Metric MDS; `stress` is the raw stress. */
  mds(X: Table, dim = 2, options: MdsOptions = {}, report: Report | null = null) {
    const { precomputed = false, maxIter = 300 } = options;
    (precomputed ? checkDissimilarities : check)(X);
    within("the number of rows for metric MDS", X.rows, 2, MOST_ROWS_MDS);
    let stress = 0;
    const embedding = this.#map(X, dim, report, (data, map) => {
      stress = this.#exports.mds(data, X.rows, X.columns, precomputed, dim, maxIter, map);
    });
    return { embedding, stress };
  }

  tsne(X: Table, dim = 2, options: TsneOptions = {}, report: Report | null = null): Float64Array {
    const { perplexity = 30, maxIter = 1000, earlyExaggeration = 12, init = "pca", seed = 0 } = options;
    check(X);
    if (!(perplexity > 0 && perplexity < X.rows))
      throw new RangeError(
        `The perplexity must be between 0 and the number of rows, ${X.rows}; it is ${perplexity}.`,
      );
    return this.#map(X, dim, report, (data, map) =>
      this.#exports.tsne(
        data,
        X.rows,
        X.columns,
        dim,
        perplexity,
        maxIter,
        earlyExaggeration,
        init === "random",
        seed,
        map,
      ),
    );
  }

  umap(X: Table, dim = 2, options: UmapOptions = {}, report: Report | null = null): Float64Array {
    const { neighbors = 15, minDist = 0.1, epochs = 500, seed = 0 } = options;
    check(X);
    within("the number of neighbours", neighbors, 2, Infinity);
    within("the least distance", minDist, 0, 1);
    return this.#map(X, dim, report, (data, map) =>
      this.#exports.umap(data, X.rows, X.columns, dim, neighbors, minDist, epochs, seed, map),
    );
  }

  /** How well a map keeps the ranks of neighbours; of more than 5,000 rows, estimated from 1,000. */
  quality(X: Table, embedding: Float64Array, neighbors = 15): Quality {
    const k = Math.max(1, Math.min(neighbors, Math.floor((X.rows - 1) / 2)));
    const dim = embedding.length / X.rows;
    return this.#with([X.values.length, embedding.length, 3], ([data, map, out]) => {
      this.#write(data!, X.values);
      this.#write(map!, embedding);
      this.#exports.quality(data!, X.rows, X.columns, map!, dim, k, out!);
      const [rnxAuc, trustworthiness, continuity] = this.#view(out!, 3) as unknown as number[];
      return { rnxAuc: rnxAuc!, trustworthiness: trustworthiness!, continuity: continuity! };
    });
  }

  #map(
    X: Table,
    dim: number,
    report: Report | null,
    compute: (data: number, map: number) => void,
  ): Float64Array {
    this.#report = report;
    this.#size = X.rows * dim;
    return this.#with([X.values.length, this.#size], ([data, map]) => {
      this.#write(data!, X.values);
      compute(data!, map!);
      return this.#view(map!, this.#size).slice();
    });
  }

  /** Calls `use` with memory for arrays of so many numbers, which is released afterwards. */
  #with<R>(sizes: number[], use: (arrays: number[]) => R): R {
    const arrays = sizes.map((size) => this.#exports.allocate(8 * size));
    try {
      if (arrays.includes(0)) throw new Error("There is not enough memory for these data.");
      return use(arrays);
    } finally {
      for (const array of arrays) this.#exports.release(array);
    }
  }

  #view(memory: number, size: number): Float64Array {
    return new Float64Array(this.#exports.memory.buffer, memory, size);
  }

  #write(memory: number, values: Float64Array): void {
    this.#view(memory, values.length).set(values);
  }
}

function within(what: string, value: number, low: number, high: number): void {
  if (!(value >= low && value <= high))
    throw new RangeError(
      `${what[0]!.toUpperCase()}${what.slice(1)} must be ` +
        `${high === Infinity ? `at least ${low}` : `between ${low} and ${high.toLocaleString("en")}`}; ` +
        `it is ${value.toLocaleString("en")}.`,
    );
}

function check({ values, rows, columns }: Table): void {
  if (values.length !== rows * columns) throw new RangeError("The table has the wrong number of values.");
  within("the number of rows", rows, 4, MOST_ROWS);
  within("the number of columns", columns, 1, Infinity);
  if (rows > MOST_PRODUCTS) within("the number of columns of so many rows", columns, 1, MOST_PRODUCTS);
  const at = values.findIndex((value) => !Number.isFinite(value));
  if (at >= 0)
    throw new RangeError(
      `Row ${Math.floor(at / columns) + 1}, column ${(at % columns) + 1} is ${values[at]}: all values must be finite.`,
    );
  if (values.every((value, e) => value === values[e % columns]))
    throw new RangeError("All rows are equal, so there is nothing to map.");
}

function checkDissimilarities(D: Table): void {
  check(D);
  const { values, rows, columns } = D;
  if (rows !== columns)
    throw new RangeError(`Dissimilarities need a square table; this is ${rows} x ${columns}.`);
  for (let i = 0; i < rows; i++) {
    if (values[i * rows + i] !== 0)
      throw new RangeError(`The dissimilarity of row ${i + 1} to itself is not 0.`);
    for (let j = 0; j < i; j++)
      if (!(values[i * rows + j]! >= 0) || values[i * rows + j] !== values[j * rows + i])
        throw new RangeError(`The dissimilarities of rows ${j + 1} and ${i + 1} differ or are negative.`);
  }
}
