// Bundles what `make wasm` compiles into build/wasm. engine.mjs is the engine for Node. Pages have two
// scripts of src/lowdim/web/live: live.js, and engine.js, which holds the worker and the compressed
// module, so that a page opened from a disk works. The documentation loads it once a map is asked for.
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { common, shaders } from "./common.mjs";

const OUT = "../build/wasm";
const SITE = "../src/lowdim/web/live";
const LIMIT = 400_000; // bytes of engine.js, compressed

const compressed = (bytes) => gzipSync(bytes, { level: 9 });
const bundle = (entry, outfile, options) =>
  build({ ...common, write: true, entryPoints: [entry], outfile, ...options });

await bundle("src/engine/engine.ts", `${OUT}/engine.mjs`, { format: "esm" });
const worker = await bundle("src/engine/worker.ts", "worker.js", { format: "iife", write: false });
await bundle("src/engine/client.ts", `${SITE}/engine.js`, {
  format: "iife",
  globalName: "LowdimEngine",
  define: {
    WORKER: JSON.stringify(worker.outputFiles[0].text),
    WASM: JSON.stringify(compressed(readFileSync(`${OUT}/lowdim.wasm`)).toString("base64")),
  },
});
await bundle("src/live/main.ts", `${SITE}/live.js`, { format: "iife", plugins: [shaders] });
// A script that is written into a page must not hold the end of the element around it.
for (const file of [`${SITE}/engine.js`, `${SITE}/live.js`])
  writeFileSync(file, readFileSync(file, "utf8").replaceAll("</script", "<\\/script"));

const size = compressed(readFileSync(`${SITE}/engine.js`)).length;
console.log(`The engine has ${size.toLocaleString("en")} bytes, compressed`);
if (size > LIMIT) {
  console.error(`The limit is ${LIMIT.toLocaleString("en")}.`);
  process.exit(1);
}
