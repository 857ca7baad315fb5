import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { Hono } from "hono";
import { expect, test } from "vitest";
import { mountStaticFiles } from "../src/mount.ts";
import type { HttpEnv } from "@patchbay/server/kernel/exchange";

const PAGE = "<!doctype html><title>Patchbay</title>";
const SCRIPT = "console.log('the console');".repeat(50);

/** A built console next to a file that does not belong to it. */
async function built() {
  const place = await mkdtemp(join(tmpdir(), "patchbay-console-"));
  const folder = join(place, "dist");
  await mkdir(join(folder, "assets"), { recursive: true });
  await mkdir(join(folder, ".vite"));
  await writeFile(join(place, "secret.txt"), "not of the console");
  await writeFile(join(folder, "index.html"), PAGE);
  await writeFile(join(folder, ".vite/manifest.json"), "{}");
  await writeFile(join(folder, "theme.js"), "1");
  await writeFile(join(folder, "assets/app-1a2b.js"), SCRIPT);
  await writeFile(join(folder, "assets/app-1a2b.js.br"), brotliCompressSync(SCRIPT));
  await writeFile(join(folder, "assets/app-1a2b.js.gz"), gzipSync(SCRIPT));
  const app = new Hono<HttpEnv>();
  mountStaticFiles(app, folder);
  return {
    folder,
    get: (path: string, headers: Record<string, string> = {}) => app.request(path, { headers }),
    [Symbol.asyncDispose]: () => rm(place, { recursive: true }),
  };
}

test("every page of the console is one document with a policy that allows no other origin", async () => {
  await using console = await built();
  for (const path of ["/console", "/console/", "/console/agents/agt_1/runs?status=failed", "/console/link"]) {
    const page = await console.get(path);
    expect([path, page.status, await page.text()]).toEqual([path, 200, PAGE]);
    expect(Object.fromEntries(page.headers)).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "content-security-policy":
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
      "cross-origin-opener-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    });
  }
});

test("browsers cache assets permanently and revalidate other files", async () => {
  await using console = await built();
  const asset = await console.get("/console/assets/app-1a2b.js");
  const theme = await console.get("/console/theme.js");

  expect(asset.headers.get("Cache-Control")).toBe("public, max-age=31536000, immutable");
  expect(asset.headers.get("Content-Type")).toBe("text/javascript; charset=utf-8");
  expect(theme.headers.get("Cache-Control")).toBe("no-cache");
  expect((await console.get("/console/assets/gone-9f.js")).status).toBe(404);
});

test.each([
  ["br, gzip", "br"],
  ["gzip, deflate", "gzip"],
  ["br;q=0, gzip;q=0.5", "gzip"],
  ["identity", null],
  ["", null],
])("a client that accepts %j receives the prebuilt encoding %s", async (accepted, coding) => {
  await using console = await built();
  const sent = await console.get("/console/assets/app-1a2b.js", { "Accept-Encoding": accepted });
  const compressed = { br: brotliCompressSync(SCRIPT), gzip: gzipSync(SCRIPT) };

  expect(sent.headers.get("Content-Encoding")).toBe(coding);
  expect(sent.headers.get("Vary")).toBe("Accept-Encoding");
  const expected = coding === null ? Buffer.from(SCRIPT) : compressed[coding as "br" | "gzip"];
  expect(Buffer.from(await sent.arrayBuffer()).equals(expected)).toBe(true);
});

test("a file that the client has cached is not sent again", async () => {
  await using console = await built();
  const etag = (await console.get("/console")).headers.get("ETag") ?? "";

  const again = await console.get("/console", { "If-None-Match": `"other", W/${etag}` });

  expect([again.status, await again.text()]).toEqual([304, ""]);
  expect((await console.get("/console", { "If-None-Match": '"other"' })).status).toBe(200);
});

test.each([
  "/console/../secret.txt",
  "/console/..%2fsecret.txt",
  "/console/%2e%2e/secret.txt",
  "/console/assets/..%5c..%5csecret.txt",
  "/console//etc/passwd",
  "/console/.vite/manifest.json",
  "/console/%00index.html",
  "/console/%E0%A4%A",
  "/console/__proto__",
])("no path leaves the folder: %s", async (path) => {
  await using console = await built();
  const text = await (await console.get(path)).text();
  expect([PAGE, "File not found.\n", "404 Not Found"]).toContain(text);
});

test("the root path redirects to the console", async () => {
  await using console = await built();
  const response = await console.get("/");
  expect([response.status, response.headers.get("Location")]).toEqual([302, "/console"]);
});

test("without a build, the path explains how to build the console, until it is built", async () => {
  await using console = await built();
  await rm(join(console.folder, "index.html"));
  const app = new Hono<HttpEnv>();
  mountStaticFiles(app, join(console.folder, "later"));

  const before = await app.request("/console/agents");
  expect([before.status, await before.text()]).toEqual([
    404,
    expect.stringContaining("node packages/console/build.ts"),
  ]);
  await mkdir(join(console.folder, "later"));
  await writeFile(join(console.folder, "later/index.html"), PAGE);

  expect(await (await app.request("/console/agents")).text()).toBe(PAGE);
});
