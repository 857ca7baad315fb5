import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type CallOutcome, defineService, type Service, silentLog } from "@patchbay/functions";
import { openapiFunctions } from "@patchbay/openapi";
import { sampleOf } from "./samples.ts";

const HELP = `pnpm run openapi DOCUMENT...

  Offers every operation of each OpenAPI document to everyone, and calls each once, with generated arguments, against a stand-in
  that Prism makes from the same document, and that validates each request. Prints what was offered, left out and refused, and exits
  with 1 if the stand-in refuses more than a tenth of the calls.

  DOCUMENT is a file, or npm:PACKAGE@VERSION:FILE for one in a package`;

const FOLDER = join(tmpdir(), "patchbay-openapi-tools");
/** Installed in a folder of their own: they are large, and only this script needs them. */
const TOOLS = ["@stoplight/prism-http@5.16.0", "@stoplight/prism-http-server@5.16.0"];

function install(...packages: string[]): void {
  mkdirSync(FOLDER, { recursive: true });
  const options = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefix", FOLDER];
  execFileSync("npm", ["install", ...options, ...packages], { stdio: ["ignore", "ignore", "inherit"] });
}

/** The path of a document. */
function fileOf(document: string): string {
  const [, name, version, file] = /^npm:(@?[^@]+)@([^:]+):(.+)$/.exec(document) ?? [];
  if (name === undefined) return document;
  install(`${name}@${version}`);
  return join(FOLDER, "node_modules", name, file!);
}

interface Prism {
  getHttpOperationsFromSpec(document: string): Promise<object[]>;
  createServer(operations: object[], options: object): StandIn;
}
interface StandIn {
  listen(port: number, host: string): Promise<string>;
  close(): Promise<void>;
}

async function loadPrism(): Promise<Prism> {
  install(...TOOLS);
  const { resolve } = createRequire(join(FOLDER, "index.js"));
  const load = (name: string) => import(pathToFileURL(resolve(name)).href) as Promise<object>;
  return {
    ...(await load("@stoplight/prism-http")),
    ...(await load("@stoplight/prism-http-server")),
  } as unknown as Prism;
}

interface Tried {
  offered: number;
  leftOut: readonly { name: string; reason: string }[];
  /** Calls that the stand-in accepted. */
  accepted: number;
  problems: { name: string; problem: string }[];
}

async function tryDocument(document: string, prism: Prism): Promise<Tried> {
  const operations = await prism.getHttpOperationsFromSpec(document);
  const logger = Object.fromEntries(
    ["trace", "debug", "info", "warn", "error", "fatal", "success"].map((level) => [level, () => undefined]),
  );
  const components = { logger: { ...logger, child: () => components.logger } };
  const config = {
    mock: { dynamic: false },
    validateRequest: true,
    validateResponse: false,
    checkSecurity: true,
    errors: false,
    isProxy: false,
  };
  const standIn = prism.createServer(operations, { components, config, cors: false });
  const address = await standIn.listen(0, "127.0.0.1");
  /** What the stand-in said about the last request. */
  let said = "";
  const api = await openapiFunctions({
    name: "api",
    document,
    server: address,
    roles: { "*": "everyone" },
    // Every scheme has credentials.
    auth: () => new Proxy({}, { get: () => "credential", has: () => true }),
    log: silentLog,
    async fetch(url, init) {
      const response = await fetch(url, init);
      said = response.headers.get("sl-violations") ?? (response.ok ? "" : await response.clone().text());
      return response;
    },
  });
  const tried: Tried = { offered: api.functions.length, leftOut: api.leftOut, accepted: 0, problems: [] };
  try {
    for (let at = 0; at < api.functions.length; at += 200) {
      const functions = api.functions.slice(at, at + 200);
      const service = defineService({ name: "api", functions: [...functions] });
      for (const { manifest } of functions) {
        said = "";
        const outcome = await call(service, manifest, (error) => (said ||= String(error)));
        if (outcome.ok && said === "") tried.accepted++;
        else tried.problems.push({ name: manifest.name, problem: said || (outcome as { message: string }).message });
      }
    }
  } finally {
    api.close();
    await standIn.close();
  }
  return tried;
}

async function call(
  service: Service,
  { name, inputSchema }: Manifest,
  onError: (error: unknown) => void,
): Promise<CallOutcome> {
  const input = sampleOf(inputSchema);
  const invocation = {
    functionName: name,
    arguments: input,
    context: {},
    threadId: "thr_1",
    runId: "run_1",
    callId: "call_1",
  };
  const signal = AbortSignal.timeout(60_000);
  return await service.invoke({ ...invocation, attempt: 1, timeoutMs: 60_000 }, { signal, log: silentLog, onError });
}

type Manifest = Service["manifest"]["functions"][number];

const documents = process.argv.slice(2);
if (documents.length === 0) process.stdout.write(`${HELP}\n`);
const prism = documents.length > 0 ? await loadPrism() : undefined;
for (const document of documents) {
  const { offered, leftOut, accepted, problems } = await tryDocument(fileOf(document), prism!);
  process.stdout.write(
    `${document}\n  ${offered} offered, ${leftOut.length} left out, ${accepted} calls accepted, ${problems.length} not\n`,
  );
  for (const { name, reason } of leftOut) process.stdout.write(`  left out ${name}: ${reason}\n`);
  for (const { name, problem } of problems) process.stdout.write(`  ${name}: ${problem.slice(0, 500)}\n`);
  if (accepted < 0.9 * offered) process.exitCode = 1;
}
