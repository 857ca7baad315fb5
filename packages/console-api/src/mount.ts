import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Context, Hono } from "hono";
import { parseAccept } from "hono/utils/accept";
import { getMimeType } from "hono/utils/mime";
import type { HttpEnv } from "@patchbay/server/kernel/exchange";
import type { ConsoleApiDeps } from "./console-api.ts";

/**
 * Adds the console to the service: its API under `/api` and its pages under `/console`. The API loads with its first
 * request: its route schemas cost memory and start-up time.
 */
export function mountConsole(app: Hono<HttpEnv>, { prefix = "", ...deps }: ConsoleApiDeps & { prefix?: string }): void {
  let loading: Promise<Hono<HttpEnv>> | undefined;
  const api = () => (loading ??= import("./console-api.ts").then(({ consoleApi }) => consoleApi(deps)));
  app.all("/api/*", async (c) => (await api()).fetch(c.req.raw, c.env));
  mountStaticFiles(app, deps.consoleFiles ?? packagedConsole(), prefix);
}

/** The built console in the published package; undefined if it was not built. */
function packagedConsole(): string | undefined {
  const folder = fileURLToPath(new URL("./console/files/", import.meta.url));
  return existsSync(folder) ? folder : undefined;
}

const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const HEADERS = {
  "Content-Security-Policy": CSP,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

/** These file names contain a content hash, so the files never change. */
const ASSETS = "assets/";
/** Of all files, only the page has the absolute addresses of others. */
const PAGE = "index.html";
const ENCODINGS = [
  { coding: "br", suffix: ".br" },
  { coding: "gzip", suffix: ".gz" },
] as const;

const NOT_BUILT =
  "The console is not built here. In the repository: node packages/console/build.ts, then start again.\n" +
  "Its API is served at /api nevertheless; GET /api/openapi.json describes it.\n";

interface StaticFile {
  body: Uint8Array<ArrayBuffer>;
  type: string;
  etag: string;
  /** Versions that the build compressed. */
  encoded: { coding: string; body: Uint8Array<ArrayBuffer> }[];
}

type Files = ReadonlyMap<string, StaticFile>;

/**
 * Serves the built console under `/console` from memory. The files are read at the first request. Clients see the console below
 * `prefix`.
 */
export function mountStaticFiles(app: Hono<HttpEnv>, folder: string | undefined, prefix = ""): void {
  let reading: Promise<Files> | undefined;
  /** A failed read is repeated at the next request: the console may be built by then. */
  function filesIn(from: string): Promise<Files> {
    const forget = (): Files => {
      reading = undefined;
      return new Map();
    };
    return (reading ??= readFiles(from, prefix).catch(forget));
  }

  async function serve(c: Context<HttpEnv>): Promise<Response> {
    const files: Files = folder === undefined ? new Map() : await filesIn(folder);
    const page = files.get(PAGE);
    if (!page) return new Response(NOT_BUILT, { status: 404, headers: plain });
    const name = nameOf(c.req.path);
    const file = files.get(name);
    if (file) return respond(c, file, name.startsWith(ASSETS));
    if (name.startsWith(ASSETS)) return new Response("File not found.\n", { status: 404, headers: plain });
    // Every other path is a console page, which the console's router resolves.
    return respond(c, page, false);
  }
  app.get("/", (c) => c.redirect(`${prefix}/console`));
  app.get("/console", (c) => serve(c));
  app.get("/console/*", (c) => serve(c));
}

const plain = { ...HEADERS, "Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-cache" };

/** The name is looked up among the files that were read, so no path can leave the folder. */
function nameOf(path: string): string {
  try {
    return decodeURIComponent(path.slice("/console/".length));
  } catch {
    return "";
  }
}

function respond(c: Context<HttpEnv>, file: StaticFile, hashed: boolean): Response {
  const accepted = codingsOf(c.req.header("Accept-Encoding") ?? "");
  const encoded = file.encoded.find(({ coding }) => accepted.has(coding));
  const etag = encoded ? `"${file.etag}-${encoded.coding}"` : `"${file.etag}"`;
  const headers: Record<string, string> = {
    ...HEADERS,
    "Cache-Control": hashed ? "public, max-age=31536000, immutable" : "no-cache",
    "Content-Type": file.type,
    ETag: etag,
    ...(file.encoded.length > 0 && { Vary: "Accept-Encoding" }),
    ...(encoded && { "Content-Encoding": encoded.coding }),
  };
  const known = (c.req.header("If-None-Match") ?? "").split(",").map((tag) => tag.trim().replace(/^W\//, ""));
  if (known.includes(etag)) return new Response(null, { status: 304, headers });
  return new Response(encoded?.body ?? file.body, { headers });
}

/** Codings that the client accepts: those with a weight above 0. */
function codingsOf(header: string): ReadonlySet<string> {
  const offers = parseAccept(header.toLowerCase());
  return new Set(offers.filter(({ q }) => q > 0).map(({ type }) => type));
}

async function readFiles(folder: string, prefix: string): Promise<Files> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join("/"));
  const bodies = new Map(
    await Promise.all(names.map(async (name) => [name, new Uint8Array(await readFile(join(folder, name)))] as const)),
  );
  const files = new Map<string, StaticFile>();
  const page = bodies.get(PAGE);
  if (prefix !== "" && page) {
    const html = new TextDecoder().decode(page).replaceAll('"/console/', `"${prefix}/console/`);
    bodies.set(PAGE, new TextEncoder().encode(html));
    for (const { suffix } of ENCODINGS) bodies.delete(PAGE + suffix);
  }
  for (const [name, body] of bodies) {
    const type = getMimeType(name);
    const isCompressed = ENCODINGS.some(({ suffix }) => name.endsWith(suffix));
    // The build's own files are hidden, or have a type that no page requests.
    if (type === undefined || isCompressed || name.split("/").some((part) => part.startsWith("."))) continue;
    const etag = createHash("sha256").update(body).digest("base64url").slice(0, 22);
    const encoded = ENCODINGS.flatMap(({ coding, suffix }) => {
      const compressed = bodies.get(name + suffix);
      return compressed ? [{ coding, body: compressed }] : [];
    });
    files.set(name, { body, type, etag, encoded });
  }
  return files;
}
