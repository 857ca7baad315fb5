import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { packAll } from "../../release/pack.ts";

const execute = promisify(execFile);

/** The caller's environment, with only those settings of npm that concern the network: `npm test` passes on its whole configuration. */
export function npmEnvironment(): Record<string, string> {
  const kept =
    /^(PATH|HOME|NODE_EXTRA_CA_CERTS|npm_config_(registry|cache|userconfig)|(npm_config_)?(https?_?)?proxy|no_?proxy)$/i;
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined && kept.test(name) ? [[name, value]] : [],
    ),
  );
}

const npm = (cwd: string, ...args: string[]) => execute("npm", args, { cwd, env: npmEnvironment() });

/** What `npm publish` sends, and what `npm install` reads of it. */
interface Document {
  name: string;
  "dist-tags": Record<string, string>;
  versions: Record<string, { dist: { tarball: string } }>;
  _attachments: Record<string, { data: string }>;
}

export interface Registry extends AsyncDisposable {
  /** Serves the packages of this repository. Everything else is redirected to the registry that npm's configuration names. */
  url: string;
  /** A `.npmrc` with which npm and pnpm take this repository's packages, and only those, from here. */
  npmrc: string;
  /** The packed packages that it serves. */
  folder: string;
}

declare module "vitest" {
  interface ProvidedContext {
    /** One registry for all test files; null if npm's registry does not answer. */
    registry: Pick<Registry, "url" | "npmrc" | "folder"> | null;
  }
}

let registry: Registry | undefined;

/** Before the first test file: concurrent builds would empty each other's output. */
export async function setup(project: TestProject): Promise<void> {
  const reached = await npm(tmpdir(), "ping", "--fetch-retries=1", "--fetch-timeout=20000", "--loglevel=error").then(
    () => true,
    () => false,
  );
  if (!reached) {
    process.stderr.write("SKIPPED: test/packages, because npm's registry does not answer `npm ping`\n");
    project.provide("registry", null);
    return;
  }
  registry = await startRegistry();
  const { url, npmrc, folder } = registry;
  project.provide("registry", { url, npmrc, folder });
}

export async function teardown(): Promise<void> {
  await registry?.[Symbol.asyncDispose]();
}

/** Packs the packages and publishes them to a registry of their own on loopback. */
export async function startRegistry(): Promise<Registry> {
  await using opening = new AsyncDisposableStack();
  const folder = opening.adopt(await mkdtemp(join(tmpdir(), "patchbay-registry-")), (path) =>
    rm(path, { recursive: true, force: true }),
  );
  const upstream = (await npm(folder, "config", "get", "registry")).stdout.trim();
  const published = new Map<string, Document>();
  const server = createServer((request, response) => void answer(request, response, published, upstream));
  await once(server.listen(0, "127.0.0.1"), "listening");
  opening.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  // npm publishes only with a token, of whatever value.
  await writeFile(join(folder, ".npmrc"), `${url.slice("http:".length)}/:_authToken=local\n`);
  // Where the folder above has one, npm would read the `.npmrc` there.
  await writeFile(join(folder, "package.json"), "{}");
  const packed = join(folder, "packages");
  for (const tarball of await packAll(packed))
    await npm(folder, "publish", tarball, "--registry", url, "--loglevel=error");

  const held = opening.move();
  return {
    url,
    npmrc: `@patchbay:registry=${url}\n`,
    folder: packed,
    [Symbol.asyncDispose]: () => held[Symbol.asyncDispose](),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  published: Map<string, Document>,
  upstream: string,
): Promise<void> {
  const path = decodeURIComponent(request.url ?? "/").split("?")[0]!;
  const [, name, file] = /^\/(@patchbay\/[^/]+)(?:\/-\/(.+\.tgz))?$/.exec(path) ?? [];
  if (name === undefined) {
    response.writeHead(307, { location: new URL(request.url!.slice(1), upstream).href }).end();
    return;
  }
  if (request.method === "PUT") {
    const document = (await json(request)) as Document;
    for (const [version, { dist }] of Object.entries(document.versions))
      dist.tarball = `http://${request.headers.host}/${name}/-/${name}-${version}.tgz`;
    published.set(name, document);
    response.writeHead(201, { "content-type": "application/json" }).end("{}");
    return;
  }
  const { _attachments: tarballs, ...document } = published.get(name) ?? {};
  const body = file === undefined ? JSON.stringify(document) : Buffer.from(tarballs?.[file]?.data ?? "", "base64");
  if (tarballs === undefined || body.length === 0) {
    response.writeHead(404, { "content-type": "application/json" }).end('{"error":"Not found"}');
    return;
  }
  const type = file === undefined ? "application/json" : "application/octet-stream";
  response.writeHead(200, { "content-type": type }).end(body);
}
