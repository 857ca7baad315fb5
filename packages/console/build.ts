import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compressAssets, firstLoadBytes } from "./build/assets.ts";
import { hashSources } from "./build/source-hash.ts";

/** What a browser fetches before it shows the first page, gzipped. */
const FIRST_LOAD_LIMIT = 180_000;

const root = import.meta.dirname;
const dist = join(root, "dist");
const stamp = join(dist, ".stamp");
const say = (line: string) => process.stderr.write(`console: ${line}\n`);

const hash = hashSources(root);
if (process.argv.includes("--force") || !existsSync(stamp) || readFileSync(stamp, "utf8") !== hash) await build();

/** Vite is loaded here alone: where nothing changed, starting costs a hash. */
async function build(): Promise<void> {
  const startedAt = performance.now();
  const vite = await import("vite");
  await vite.build({ root, logLevel: "warn" });
  compressAssets(dist);
  const bytes = firstLoadBytes(dist);
  say(`built in ${Math.round(performance.now() - startedAt)} ms, first load ${(bytes / 1000).toFixed(1)} kB gzip`);
  if (bytes > FIRST_LOAD_LIMIT) {
    say(`first load is over ${FIRST_LOAD_LIMIT / 1000} kB: import a page's heavy parts with lazy() or import()`);
    process.exitCode = 1;
    return;
  }
  writeFileSync(stamp, hash);
}
