// What the bundles share: options of esbuild, colours, shaders.
import { readFileSync } from "node:fs";

/** The colours of categories, which plots and pages share: the lists of lowdim/plot/colors.py. */
function palette() {
  const source = readFileSync("../src/lowdim/plot/colors.py", "utf8");
  const list = (name) => {
    const found = new RegExp(`^${name} = [[{]([^\\]}]*)[\\]}]`, "m").exec(source);
    return found[1].match(/#[0-9a-f]{6}/g);
  };
  return {
    kinds: list("COLORS").join("").replaceAll("#", ""),
    other: /^OTHER = "(#[0-9a-f]{6})"/m.exec(source)[1],
  };
}

export const common = {
  bundle: true,
  minify: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  jsx: "transform", // calls with children as arguments are shorter than those with a property for them
  jsxFactory: "h",
  jsxFragment: "Fragment",
  tsconfigRaw: { compilerOptions: { strict: true, verbatimModuleSyntax: true } },
  define: { PALETTE: JSON.stringify(palette()) },
  write: false,
  logLevel: "warning",
};

/** Shaders without the spaces that only help a reader. */
export const shaders = {
  name: "small shaders",
  setup(bundle) {
    bundle.onLoad({ filter: /webgl\.ts$/ }, ({ path }) => {
      const shrink = (shader) =>
        shader
          .replace(/ *\/\/.*/g, "")
          .replace(/\n +/g, "\n")
          .replace(/ ?([=+*?:<>,(){}]) ?/g, "$1");
      const contents = readFileSync(path, "utf8").replace(/`#version[^`]*`/g, (shader) =>
        shader.replace(/(?<=es\n)[^`]*/, shrink),
      );
      return { contents, loader: "ts" };
    });
  },
};
