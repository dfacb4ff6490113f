// Bundles src/ into ../src/nestmap/views/explore/page, the same bytes on every machine; `--tests` bundles the unit tests instead.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const HERE = dirname(fileURLToPath(import.meta.url));
const PAGE = process.env.NESTMAP_PAGE ?? join(HERE, "..", "src", "nestmap", "views", "explore", "page");
const LIBRARIES = ["earcut", "twgl.js"];

function listFiles(folder) {
  return readdirSync(join(HERE, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? listFiles(path) : [path];
  });
}

// tests/test_page_bundle.py computes the same sum without node
function hashSources() {
  const paths = [...listFiles("src"), "build.mjs", "package.json", "package-lock.json", "tsconfig.json"].sort();
  const sum = createHash("sha256");
  for (const path of paths) {
    const bytes = readFileSync(join(HERE, path));
    sum.update(`${path}\n${bytes.length}\n`).update(bytes);
  }
  return sum.digest("hex");
}

async function buildTests() {
  const entryPoints = readdirSync(join(HERE, "test")).filter((n) => n.endsWith(".test.ts")).map((n) => join(HERE, "test", n));
  await build({
    entryPoints, outdir: join(HERE, "build", "test"), outExtension: { ".js": ".mjs" },
    bundle: true, format: "esm", platform: "node", target: "node20",
  });
}

async function buildPage() {
  const mark = `/* nestmap explorer; sources sha256:${hashSources()}; licences of libraries: LICENSES.txt */`;
  mkdirSync(PAGE, { recursive: true });
  const common = { bundle: true, minify: true, target: "es2022", charset: "utf8", legalComments: "none", write: true };
  await build({ ...common, entryPoints: [join(HERE, "src", "main.ts")], outfile: join(PAGE, "app.js"), format: "iife", banner: { js: mark } });
  await build({ ...common, entryPoints: [join(HERE, "src", "notebook", "widget.ts")], outfile: join(PAGE, "widget.js"), format: "esm", banner: { js: mark } });
  await build({ ...common, entryPoints: [join(HERE, "src", "style.css")], outfile: join(PAGE, "app.css"), banner: { css: mark } });
  writeFileSync(join(PAGE, "index.html"), readFileSync(join(HERE, "src", "index.html")));
  const licences = LIBRARIES.map((name) => {
    const about = JSON.parse(readFileSync(join(HERE, "node_modules", name, "package.json"), "utf8"));
    const file = readdirSync(join(HERE, "node_modules", name)).find((n) => /^licen[sc]e/i.test(n));
    return `${name} ${about.version}\n\n${readFileSync(join(HERE, "node_modules", name, file), "utf8").trim()}\n`;
  });
  writeFileSync(join(PAGE, "LICENSES.txt"), licences.join(`\n${"-".repeat(80)}\n\n`));
}

await (process.argv.includes("--tests") ? buildTests() : buildPage());
