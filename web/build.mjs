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

/** Which files make a feature; the first that matches counts. */
const FEATURES = [
  ["Preact and its signals", /node_modules/],
  [
    "scatter view: camera, painters, gestures",
    /scatter\/(view|camera|scene|places|pa[ci]\w+|webgl|stamp|gestures|index|color|scale|scatter)\./,
  ],
  [
    "names, regions, contours, arrows, images above the points",
    /(scatter|studio)\/(overlay|regions|contours|names)\./,
  ],
  ["pictures to take away, keys", /scatter\/(picture|svg|key)\.|studio\/takeaway/],
  ["columns and filters", /scatter\/facets|studio\/(columns|filters)/],
  ["search", /studio\/search/],
  ["features that a map follows", /studio\/features/],
  ["quality, stability, charts", /studio\/(quality|charts)/],
  ["suspects, annotations", /studio\/(suspects|annotation)/],
  ["an object, its neighbours, the tooltip", /studio\/(object|picking|tooltip)/],
  ["a selection and its reasons", /studio\/selection/],
  ["steering", /studio\/pins/],
  ["maps on the stage, decoding, alignment, transport", /studio\/(maps|plot|align|transport|coordinates)/],
  ["colours and legend", /studio\/(colors|legend)/],
  ["forms of methods", /studio\/(method|parameter)/],
  ["data, sources, toy sets, first screen", /studio\/(data|sources|toys|welcome)/],
  ["the lesson", /studio\/lesson/],
  ["styles of the studio", /studio\/.*\.css/],
  ["frame of the studio: state, server, controls", /studio\//],
  ["the report", /report\//],
  ["the notebook widget", /widget\//],
];
const weights = new Map([...FEATURES.map(([name]) => [name, 0]), ["joints between the files", 0]]);

/** Adds the bytes of a bundle to the weights of the features that its files belong to. */
function weigh(bytes, { inputs }) {
  for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
    const [name] = FEATURES.find(([, files]) => files.test(path)) ?? ["joints between the files"];
    weights.set(name, weights.get(name) + bytesInOutput);
    bytes -= bytesInOutput;
  }
  weights.set("joints between the files", weights.get("joints between the files") + bytes);
}

const row = (name, bytes, width) => `${name.padEnd(width)} ${bytes.toLocaleString("en").padStart(8)} bytes`;

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
  const { outputFiles, metafile } = await build({ ...common, ...entry, outfile, metafile: true });
  // A script that is written into a page must not hold the end of the element around it.
  const text = outputFiles[0].text.replaceAll("</script", "<\\/script");
  const bytes = Buffer.byteLength(text);
  writeFileSync(`${OUT}/${outfile}`, text);
  weigh(bytes, metafile.outputs[outfile]);
  total += bytes;
  console.log(row(outfile, bytes, 12));
}
for (const name of ["index.html", "icon.svg"]) copyFileSync(`src/studio/${name}`, `${OUT}/${name}`);
console.log(row("together", total, 12));
const heaviest = [...weights].sort(([, a], [, b]) => b - a);
writeFileSync("weights.txt", heaviest.map(([name, bytes]) => row(name, bytes, 58) + "\n").join(""));
if (total > LIMIT) {
  console.error(`The bundles have ${total} bytes together; the limit is ${LIMIT}.`);
  process.exit(1);
}
