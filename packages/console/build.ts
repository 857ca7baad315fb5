import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { extname, join } from "node:path";
import { parseArgs } from "node:util";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/** Limit of the gzipped bytes that a browser loads for the first page of a signed-in member. */
const FIRST_LOAD_LIMIT = 180_000;

const FIRST_PAGE = "src/pages/agents/agents-page.tsx";

/** The inputs of the build. Of other packages only types are imported, except from the client. */
const SOURCES = [
  "src",
  "public",
  "build.ts",
  "index.html",
  "package.json",
  "vite.config.ts",
  "../client/src",
  "../../pnpm-lock.yaml",
];

const COMPRESSED = new Set([".js", ".css", ".html", ".svg"]);
const SMALLEST_BYTES = 1_000;
/** Quality 11 takes half a minute and saves only a few per cent. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

const root = import.meta.dirname;
const dist = join(root, "dist");
const stamp = join(dist, ".stamp");
const say = (line: string) => process.stderr.write(`console: ${line}\n`);

const { values } = parseArgs({ options: { force: { type: "boolean" }, "copy-to": { type: "string" } } });
const hash = hashSources(root);
if (values.force || !isBuilt()) await build();
if (values["copy-to"] && process.exitCode === undefined) copyTo(values["copy-to"]);

function isBuilt(): boolean {
  return existsSync(stamp) && readFileSync(stamp, "utf8") === hash;
}

/**
 * Builds into a temporary folder and then renames it to `dist`: concurrent builds must not empty each other's output, and a running
 * control plane must not serve a partial build. Imports Vite only here, so that an up-to-date start costs only a hash.
 */
async function build(): Promise<void> {
  const startedAt = performance.now();
  // With any other value, Vite would bundle React's development build.
  process.env["NODE_ENV"] = "production";
  const vite = await import("vite");
  const folder = mkdtempSync(join(root, "node_modules", ".build-"));
  try {
    const next = join(folder, "dist");
    await vite.build({ root, logLevel: "warn", build: { outDir: next } });
    compressAssets(next);
    const bytes = firstLoadBytes(next, FIRST_PAGE);
    // The Vite manifest is only for firstLoadBytes: do not serve it.
    rmSync(join(next, ".vite"), { recursive: true });
    say(`built in ${Math.round(performance.now() - startedAt)} ms, first load ${(bytes / 1000).toFixed(1)} kB gzip`);
    if (bytes > FIRST_LOAD_LIMIT) {
      say(
        `first load exceeds the limit of ${FIRST_LOAD_LIMIT / 1000} kB. Load heavy parts of pages with lazy() or import().`,
      );
      process.exitCode = 1;
      return;
    }
    writeFileSync(join(next, ".stamp"), hash);
    if (values.force || !isBuilt()) publish(next, join(folder, "before"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Replaces `dist` by `next`. If a concurrent build has already done so, its identical files stay. */
function publish(next: string, before: string): void {
  try {
    renameSync(dist, before);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  try {
    renameSync(next, dist);
  } catch (error) {
    if (!isBuilt()) throw error;
  }
}

/** Copies the build, for publication. Clears the folder first: names of assets contain a hash, so old ones would remain. */
function copyTo(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  cpSync(dist, folder, { recursive: true, filter: (file) => file !== stamp });
}

/** Writes a `.br` and a `.gz` version next to each compressible file. */
function compressAssets(dist: string): void {
  for (const entry of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !COMPRESSED.has(extname(entry.name))) continue;
    const file = join(entry.parentPath, entry.name);
    const bytes = readFileSync(file);
    if (bytes.byteLength <= SMALLEST_BYTES) continue;
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, BROTLI));
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
  }
}

interface Chunk {
  file: string;
  isEntry?: boolean;
  imports?: string[];
  css?: string[];
}

/** Gzipped bytes of the entry, of `firstPage`, of their static imports and styles. Dynamic imports are not counted. */
function firstLoadBytes(dist: string, firstPage: string): number {
  const manifest = JSON.parse(readFileSync(join(dist, ".vite", "manifest.json"), "utf8")) as Record<string, Chunk>;
  const files = new Set(["index.html", "theme.js"]);
  const add = (name: string): void => {
    const chunk = manifest[name];
    if (!chunk || files.has(chunk.file)) return;
    for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file);
    for (const imported of chunk.imports ?? []) add(imported);
  };
  for (const [name, chunk] of Object.entries(manifest)) if (chunk.isEntry) add(name);
  add(firstPage);
  return [...files].reduce((sum, file) => sum + gzipSync(readFileSync(join(dist, file)), { level: 9 }).byteLength, 0);
}

/** Hashes the names and contents of all inputs. */
function hashSources(root: string): string {
  const hash = createHash("sha256");
  for (const source of SOURCES)
    for (const file of filesUnder(join(root, source)))
      hash
        .update(`${file.slice(root.length)}\0`)
        .update(readFileSync(file))
        .update("\0");
  return hash.digest("hex");
}

function filesUnder(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
