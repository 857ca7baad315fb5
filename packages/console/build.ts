import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
if (values.force || !existsSync(stamp) || readFileSync(stamp, "utf8") !== hash) await build();
if (values["copy-to"] && process.exitCode === undefined) copyTo(values["copy-to"]);

/** Vite is loaded here alone: where nothing changed, starting costs a hash. */
async function build(): Promise<void> {
  const startedAt = performance.now();
  const vite = await import("vite");
  await vite.build({ root, logLevel: "warn" });
  compressAssets(dist);
  const bytes = firstLoadBytes(dist, FIRST_PAGE);
  // It names the sources; nobody is served it.
  rmSync(join(dist, ".vite"), { recursive: true });
  say(`built in ${Math.round(performance.now() - startedAt)} ms, first load ${(bytes / 1000).toFixed(1)} kB gzip`);
  if (bytes > FIRST_LOAD_LIMIT) {
    say(`first load is over ${FIRST_LOAD_LIMIT / 1000} kB: import a page's heavy parts with lazy() or import()`);
    process.exitCode = 1;
    return;
  }
  writeFileSync(stamp, hash);
}

/** For publication. What was there goes first: assets carry their hash in the name, and old ones would stay. */
function copyTo(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  cpSync(dist, folder, { recursive: true });
}
