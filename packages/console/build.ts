import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { compressAssets, firstLoadBytes } from "./build/assets.ts";
import { hashSources } from "./build/source-hash.ts";

/** What a browser fetches before it shows the first page of a person who is signed in, gzipped. */
const FIRST_LOAD_LIMIT = 180_000;

const FIRST_PAGE = "src/pages/agents/agents-page.tsx";

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
 * Vite is loaded here alone: where nothing changed, starting costs a hash. Files are made beside `dist` and moved there whole: of
 * several that build at once, none empties what another is writing, and nobody is served half of them.
 */
async function build(): Promise<void> {
  const startedAt = performance.now();
  // Whatever the caller's says: with another, React's development build would go in.
  process.env["NODE_ENV"] = "production";
  const vite = await import("vite");
  const place = mkdtempSync(join(root, "node_modules", ".build-"));
  try {
    const next = join(place, "dist");
    await vite.build({ root, logLevel: "warn", build: { outDir: next } });
    compressAssets(next);
    const bytes = firstLoadBytes(next, FIRST_PAGE);
    // It names the sources; nobody is served it.
    rmSync(join(next, ".vite"), { recursive: true });
    say(`built in ${Math.round(performance.now() - startedAt)} ms, first load ${(bytes / 1000).toFixed(1)} kB gzip`);
    if (bytes > FIRST_LOAD_LIMIT) {
      say(`first load is over ${FIRST_LOAD_LIMIT / 1000} kB: import a page's heavy parts with lazy() or import()`);
      process.exitCode = 1;
      return;
    }
    writeFileSync(join(next, ".stamp"), hash);
    if (values.force || !isBuilt()) publish(next, join(place, "before"));
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

/** Puts `next` in the place of `dist`. Where another did the same meanwhile, its files stay: they are whole, and the same. */
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

/** For publication. What was there goes first: assets carry their hash in the name, and old ones would stay. */
function copyTo(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  cpSync(dist, folder, { recursive: true, filter: (file) => file !== stamp });
}
