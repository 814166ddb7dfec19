// Starts the engine in a worker and hands tasks to it, one after the other.

import type { Quality } from "./engine";
import type { Answer, Task } from "./worker";

// The script of the worker, and the module compressed, in base64: one file that works without a
// server. web/wasm.mjs fills them in.
declare const WORKER: string;
declare const WASM: string;

export interface Fit {
  embedding: Float64Array;
  quality: Quality | null;
  seconds: number;
}

type Progress = (iteration: number, embedding: Float64Array) => void;

let module: Promise<WebAssembly.Module> | null = null;

async function compile(): Promise<WebAssembly.Module> {
  const packed = Uint8Array.from(atob(WASM), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(unpacked).arrayBuffer());
}

export class Engine {
  #worker: Worker | null = null;
  #last: Promise<unknown> = Promise.resolve();

  /** Fits after all earlier tasks. An aborted one ends at once, and its promise is rejected. */
  fit(task: Task, progress: Progress, signal: AbortSignal): Promise<Fit> {
    const result = this.#last.then(() => this.#run(task, progress, signal));
    this.#last = result.catch(() => {});
    return result;
  }

  async #run(task: Task, progress: Progress, signal: AbortSignal): Promise<Fit> {
    module ??= compile();
    const compiled = await module;
    signal.throwIfAborted();
    if (!this.#worker) {
      this.#worker = new Worker(URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" })));
      this.#worker.postMessage(compiled);
    }
    const worker = this.#worker;
    let abort = (): void => {};
    const fit = new Promise<Fit>((resolve, reject) => {
      const end = (): void => {
        worker.terminate();
        this.#worker = null;
      };
      abort = () => (end(), reject(signal.reason));
      signal.addEventListener("abort", abort);
      worker.onerror = ({ message }) => (end(), reject(new Error(message)));
      worker.onmessage = ({ data }: MessageEvent<Answer>) => {
        if ("iteration" in data) progress(data.iteration, data.embedding);
        else if ("error" in data) reject(new Error(data.error));
        else resolve(data);
      };
      worker.postMessage(task);
    });
    // The worker goes on with other tasks, which the signal of this one must not end.
    return fit.finally(() => signal.removeEventListener("abort", abort));
  }
}
