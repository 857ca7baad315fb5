import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "rolldown";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startContractSystem } from "../contract/contract-system.ts";

const PACKAGES = [
  "openapi-typescript@7.13.0",
  "openapi-fetch@0.17.0",
  "@hey-api/openapi-ts@0.99.0",
  "swagger-typescript-api@13.13.0",
  "typescript@5.9.3",
];
const execute = promisify(execFile);
let folder: string;
let system: Awaited<ReturnType<typeof startContractSystem>>;

const run = (...command: [string, ...string[]]) => execute("npx", command, { cwd: folder });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "patchbay-generated-clients-"));
  system = await startContractSystem(() => ({ text: "Hi." }));
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await execute("npm", ["install", "--no-audit", "--no-fund", ...PACKAGES], { cwd: folder });
  const document = await fetch(`${system.url}/openapi.json`);
  await writeFile(join(folder, "openapi.json"), await document.text());
});
afterAll(async () => {
  await system?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

const HEAD =
  "const [, , baseUrl = '', agent_id = '', key = ''] = process.argv;\ndeclare const process: { argv: string[] };\n";

/** Each generator, with a program that reads the answer's text without narrowing its type. */
test.each<[string, [string, ...string[]], string]>([
  [
    "openapi-typescript",
    ["openapi-typescript", "openapi.json", "-o", "fetch.gen.ts"],
    `import createClient from "openapi-fetch";
import type { paths } from "./fetch.gen.ts";
const client = createClient<paths>({ baseUrl, headers: { "X-API-Key": key } });
const { data } = await client.POST("/agents/{agent_id}/query", { params: { path: { agent_id } }, body: { query: "Hi" } });
const text: string = data!.response;`,
  ],
  [
    "@hey-api/openapi-ts",
    ["openapi-ts", "-i", "openapi.json", "-o", "hey"],
    `import { client } from "./hey/client.gen.ts";
import { query } from "./hey/sdk.gen.ts";
client.setConfig({ baseUrl, headers: { "X-API-Key": key } });
const { data } = await query({ path: { agent_id }, body: { query: "Hi" } });
const text: string = data!.response;`,
  ],
  [
    "swagger-typescript-api",
    ["swagger-typescript-api", "generate", "-p", "openapi.json", "-o", ".", "-n", "api.gen.ts"],
    `import { Api } from "./api.gen.ts";
const api = new Api({ baseUrl, baseApiParams: { headers: { "X-API-Key": key }, format: "json" } });
const { data } = await api.agents.query(agent_id, { query: "Hi" });
const text: string = data.response;`,
  ],
])("a client of %s compiles, and reads an answer", async (name, generate, program) => {
  await run(...generate);
  const file = `${name.replaceAll(/\W/g, "")}.ts`;
  await writeFile(join(folder, file), `${HEAD}${program}\nconsole.log(text);\n`);
  const strict = ["--strict", "--noEmit", "--skipLibCheck", "--allowImportingTsExtensions", "--target", "esnext"];

  const modules = ["--module", "esnext", "--moduleResolution", "bundler", "--lib", "esnext,dom,dom.iterable"];
  await run("tsc", ...strict, ...modules, file).catch(({ stdout }: { stdout: string }) => expect.fail(stdout));
  const { agentId, apiKey, url } = system;
  // Some generators write enums and imports without extensions, which Node.js does not run.
  await build({ input: join(folder, file), platform: "node", output: { file: join(folder, "program.js") } });
  const { stdout } = await execute("node", ["program.js", url, agentId, apiKey], { cwd: folder });
  expect(stdout.trim()).toBe("Hi.");
});
