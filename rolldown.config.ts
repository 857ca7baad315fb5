import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin, type BuildOptions } from "rolldown";

/**
 * How the packages are published: each as a file for every entry and for what is loaded later. A process that loads some
 * thousand small modules starts slowly and keeps more of them in memory.
 *
 * Packages in `dependencies` are installed, not bundled: they read untrusted bytes (ws, hono, pg, jose, the providers' libraries),
 * and their fixes reach owners at once. The rest, in `devDependencies`, is bundled, as is the protocol, except where zod is a peer: the protocol needs its
 * own zod there, because the owner's may be an older one.
 */
const ENTRIES = {
  protocol: ["index", "arguments-hash", "console/index", "providers"],
  client: ["index"],
  create: ["main", "index"],
  functions: ["index", "access/index", "conformance", "sources", "testing/index"],
  mcp: ["index"],
  openapi: ["index"],
  "control-plane": ["index", "admin", "sqlite-reader-thread"],
  cli: ["main", "runtime-process", "search-process"],
};

export type PackageName = keyof typeof ENTRIES;
export const PACKAGES = Object.keys(ENTRIES) as PackageName[];

interface PackageJson {
  name: string;
  version: string;
  license?: string;
  engines?: { node?: string };
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

const folderOf = (name: PackageName): string => fileURLToPath(new URL(`packages/${name}`, import.meta.url));
const readPackage = (folder: string): PackageJson =>
  JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as PackageJson;

/** Bundles `entries` of a package, or modules that are to see it from inside, into `dir`, which is emptied before. */
export function bundle(name: PackageName, dir: string, entries = entriesOf(name)): BuildOptions {
  const { dependencies, peerDependencies, engines } = readPackage(folderOf(name));
  const isBundled = (id: string) => id === "@patchbay/protocol" && peerDependencies?.["zod"] === undefined;
  const installed = Object.keys({ ...dependencies, ...peerDependencies }).filter((id) => !isBundled(id));
  return {
    cwd: folderOf(name),
    input: entries,
    platform: "node",
    external: (id, importer) =>
      !isOfMetrics(id, importer) && installed.some((one) => id === one || id.startsWith(`${one}/`)),
    plugins: [asciiOnly, licences],
    // The oldest Node.js that may install the package: ">=22".
    transform: { target: `node${engines!.node!.slice(">=".length)}` },
    output: {
      dir,
      cleanDir: true,
      comments: { legal: true, annotation: false, jsdoc: false },
      // One file in place of a dozen small ones, of which every process loads all.
      codeSplitting: {
        groups: [
          { name: "wire", test: /[\\/]packages[\\/](?:kit|schema|protocol)[\\/]src[\\/](?!console)/, minShareCount: 2 },
        ],
      },
      // Flat: what finds a file by its own address is directly in src, and keeps finding it in dist.
      chunkFileNames: "[name]-[hash].js",
    },
  };
}

/** prom-client gets a bundled copy: the installed one, which only a traced process loads, would add 51 files to every start. */
const isOfMetrics = (id: string, importer: string | undefined): boolean =>
  id === "@opentelemetry/api" && /[\\/]prom-client[\\/]/.test(importer ?? "");

const entriesOf = (name: PackageName): Record<string, string> =>
  Object.fromEntries(ENTRIES[name].map((entry) => [entry, `src/${entry}.ts`]));

/** One character beyond Latin-1 makes V8 hold the whole file with two bytes for each of its characters. */
const asciiOnly: Plugin = {
  name: "ascii-only",
  // Not in `renderChunk`: rolldown prints strings once more after it, without escapes.
  generateBundle(_options, files) {
    for (const file of Object.values(files)) if (file.type === "chunk") file.code = escaped(file.code);
  },
};

const escaped = (code: string): string =>
  code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Writes the licences of what is bundled, where anything is. */
const licences: Plugin = {
  name: "licences",
  generateBundle(_options, files) {
    const modules = Object.values(files).flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
    const folders = new Set(modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []));
    if (folders.size === 0) return;
    const texts = [...folders].map(licenceOf).toSorted();
    this.emitFile({
      type: "asset",
      fileName: "THIRD-PARTY-LICENSES",
      source: texts.join(`\n${"-".repeat(80)}\n\n`),
    });
  },
};

function licenceOf(folder: string): string {
  const { name, version, license = "unknown" } = readPackage(folder);
  const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.(md|txt))?$/i.test(entry));
  const text = file === undefined ? "" : `\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
  return `${name} ${version}, licence ${license}\n${text}`;
}

// oxlint-disable-next-line import/no-default-export -- the form of a configuration file
export default defineConfig(PACKAGES.map((name) => bundle(name, join(folderOf(name), "dist"))));
