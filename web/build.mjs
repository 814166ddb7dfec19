// Bundles the pages into src/lowdim/web, which is committed: an installation needs no Node.
// The output depends on the sources and the locked packages alone, so that CI can compare it.
import { writeFileSync, copyFileSync, mkdirSync } from "node:fs";
import { build } from "esbuild";
import { common, shaders } from "./common.mjs";

const OUT = "../src/lowdim/web";
const LIMIT = 300_000; // bytes of all scripts and styles together
mkdirSync(OUT, { recursive: true });

/** Pages take the scatter view from the global variable that scatter.js makes, so it is shipped once. */
function shared(names) {
  return {
    name: "shared scatter view",
    setup(bundle) {
      bundle.onResolve({ filter: /^\.\.\/scatter$/ }, () => ({ path: "scatter", namespace: "shared" }));
      bundle.onLoad({ filter: /.*/, namespace: "shared" }, () => ({
        contents: `export const { ${names.join(", ")} } = LowdimScatter;`,
      }));
    },
  };
}

/** Style sheets that a script puts into the page, as minified text. */
const styles = {
  name: "styles as text",
  setup(bundle) {
    bundle.onLoad({ filter: /\.css$/ }, async ({ path }) => {
      const { outputFiles } = await build({ ...common, entryPoints: [path], outfile: "x.css" });
      return { contents: outputFiles[0].text.trim(), loader: "text" };
    });
  },
};

async function exportsOf(entry) {
  const { metafile } = await build({
    ...common,
    entryPoints: [entry],
    format: "esm",
    outfile: "x.js",
    metafile: true,
  });
  return metafile.outputs["x.js"].exports;
}

const scatter = "src/scatter/index.ts";
// Properties that only files of the scatter view use, and that no browser interface has.
const mangleProps =
  /^(anchors|before|contours|bold|budget|camera|clickAt|colors|decodeAt|drawLasso|drew|faint|grow|hoverAt|locate|moving|nDim|offsets|opacity|order|painter|part|positions|projection|reach|ringed|selectInside|spatial|stride|touched|uploaded|versions|zoomBy)$/;
const plugins = [shared(await exportsOf(scatter))];
const entries = [
  {
    entryPoints: [scatter],
    format: "iife",
    globalName: "LowdimScatter",
    mangleProps,
    plugins: [shaders],
    outfile: "scatter.js",
  },
  {
    entryPoints: ["src/studio/main.tsx"],
    format: "esm",
    inject: ["src/studio/jsx.ts"],
    mangleProps: /^hideLabel$/, // only components have it
    plugins,
    outfile: "studio.js",
  },
  { entryPoints: ["src/studio/studio.css"], outfile: "studio.css" },
  { entryPoints: ["src/report/main.ts"], format: "iife", plugins, outfile: "report.js" },
  { entryPoints: ["src/report/report.css"], outfile: "report.css" },
  { entryPoints: ["src/widget/main.ts"], format: "esm", plugins: [...plugins, styles], outfile: "widget.js" },
];

let total = 0;
for (const { outfile, ...entry } of entries) {
  const { outputFiles } = await build({ ...common, ...entry, outfile });
  // A script that is written into a page must not hold the end of the element around it.
  const text = outputFiles[0].text.replaceAll("</script", "<\\/script");
  writeFileSync(`${OUT}/${outfile}`, text);
  total += Buffer.byteLength(text);
  console.log(`${outfile.padEnd(12)} ${Buffer.byteLength(text).toLocaleString("en").padStart(8)} bytes`);
}
for (const name of ["index.html", "icon.svg"]) copyFileSync(`src/studio/${name}`, `${OUT}/${name}`);
console.log(`${"together".padEnd(12)} ${total.toLocaleString("en").padStart(8)} bytes`);
if (total > LIMIT) {
  console.error(`The bundles have ${total} bytes together; the limit is ${LIMIT}.`);
  process.exit(1);
}
