// Runs the fits that a JSON file lists, in WebAssembly: node fits.mjs engine.mjs lowdim.wasm jobs.json
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [engine, wasm, jobs] = process.argv.slice(2);
const { Engine } = await import(pathToFileURL(engine).href);
const lowdim = await Engine.load(readFileSync(wasm));
for (const { method, file, rows, columns, parameters, out } of JSON.parse(readFileSync(jobs, "utf8"))) {
  const { buffer, byteOffset, length } = readFileSync(file);
  const X = { values: new Float64Array(buffer, byteOffset, length / 8), rows, columns };
  const began = process.cpuUsage();
  const result = lowdim[method](X, ...parameters.map((p) => (Array.isArray(p) ? Float64Array.from(p) : p)));
  const { user, system } = process.cpuUsage(began);
  const embedding = result.embedding ?? result;
  const plain = (_, value) => (ArrayBuffer.isView(value) ? [...value] : value);
  writeFileSync(out, ArrayBuffer.isView(embedding) ? embedding : JSON.stringify(result, plain));
  console.log(`${method} of ${rows} rows: ${((user + system) / 1e6).toFixed(2)} s`);
}
