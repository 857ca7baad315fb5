import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const COMPRESSED = new Set([".js", ".css", ".html", ".svg"]);
const SMALLEST_BYTES = 1_000;
/** The highest quality takes half a minute for a few per cent. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

/** Writes `.br` and `.gz` beside each file that a server may send compressed. */
export function compressAssets(dist: string): void {
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

/** Gzipped bytes of the entry, of `firstPage`, of all that they import at once, and of the styles. Other pages and what opens later are not counted. */
export function firstLoadBytes(dist: string, firstPage: string): number {
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
