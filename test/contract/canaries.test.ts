import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runCommand, startCommand, temporaryFolder, type Running } from "../../packages/cli/test/support/command.ts";
import { printFigure } from "@patchbay/test-support/figures";
import { readDatabase } from "../support/processes.ts";
import { startStandIn, type Script } from "@patchbay/test-support/providers";
import { STAND_IN_KEY } from "@patchbay/test-support/providers/stand-in";
import { client } from "@patchbay/test-support/system";

const functionsPackage = fileURLToPath(import.meta.resolve("@patchbay/functions"));

/** Secrets by their source. None may appear in any output. */
const HIDDEN = {
  "environment of the runtime": "canary-env-runtime-4Hs",
  "environment of the control plane": "canary-env-plane-9Kd",
  "an exception of a function": "canary-thrown-2Lm",
  "a restricted field of a result": "canary-protected-6Zt",
  "the provider's error": "sk-ant-canary-provider-8Qw4Hs9KdLm2Zt6",
  "a bad request's header": "canary-header-5Rx",
};
/** What an operator gives to `serve`. */
const GIVEN = {
  "password of the owner": "canary-password-8Gb",
  "metrics token": "canary-metrics-2Xe",
};
/** Text of the conversation: it is in the log of the run, but in no line that a process writes. */
const CONVERSATION = { query: "canary-query-1Vb", argument: "canary-argument-3Nc", result: "canary-result-7Jf" };

const source = `
import { defineFunction, defineService, everyone } from ${JSON.stringify(functionsPackage)};

const input = { type: "object", properties: { note: { type: "string" } } };
const output = { type: "object", properties: { seen: { type: "string" }, cost: { type: "string", "x-visible-to": ["owner"] } } };
const common = { input, roles: everyone };
export default defineService({
  name: "canaries",
  roles: ["owner", "user"],
  functions: [
    defineFunction({ ...common, name: "show", description: "Shows.", output,
      handler: () => ({ seen: ${JSON.stringify(CONVERSATION.result)}, cost: ${JSON.stringify(HIDDEN["a restricted field of a result"])} }) }),
    defineFunction({ ...common, name: "fail", description: "Fails.",
      handler() { throw new Error("no connection with " + process.env.OWNER_SECRET + " and ${HIDDEN["an exception of a function"]}"); } }),
  ],
});
`;

const script: Script = ({ step, query }) => {
  const [, way] = query.split(" ");
  const error = { message: `refused: ${HIDDEN["the provider's error"]}` };
  if (way === "refused") return { error: { status: 401, ...error } };
  if (way === "broken") return { error: { status: 400, ...error } };
  if (way === "cut") return { text: "half", midStreamError: { ...error } };
  if (step > 0) return { text: "Done." };
  return { calls: ["show", "fail"].map((name) => ({ name, arguments: { note: CONVERSATION.argument } })) };
};

type Desk = ReturnType<typeof client>;

/** Signs in, makes a client token and the secret of a webhook, and uses them, and others that are wrong. */
async function secretsMade(desk: Desk, { agentId, serviceToken }: { agentId: string; serviceToken: string }) {
  const path = `/agents/${agentId}`;
  const asProgram = { authorization: `Bearer ${serviceToken}`, "content-type": "application/json" };
  const signIn = async (password: string) =>
    await desk.post("/api/session", { email: "owner@example.com", password }, { origin: desk.url });
  const wrongPassword = "canary-wrong-password-3Qk";
  expect((await signIn(wrongPassword)).status).toBe(401);
  const signedIn = await signIn(GIVEN["password of the owner"]);
  const cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!;
  const [, session = ""] = cookie.split("=");
  expect((await desk.get("/api/agents", { cookie })).status).toBe(200);
  const page = await desk.post(`${path}/client-tokens`, { role: "user", expiresInSeconds: 600 });
  const { token: clientToken } = (await page.json()) as { token: string };
  const chat = { id: "chat-1", messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "hi refused" }] }] };
  for (const token of [clientToken, `${clientToken}x`])
    await (await desk.post(`${path}/ui-stream`, chat, { "x-api-key": "", authorization: `Bearer ${token}` })).text();
  const url = "https://hooks.invalid/canary-webhook-address-6Wp";
  const hook = await fetch(`${desk.url}/api${path}/webhook`, {
    method: "PUT",
    headers: asProgram,
    body: JSON.stringify({ url }),
  });
  const { secret: webhookSecret } = (await hook.json()) as { secret: string };
  await desk.post(`/api${path}/webhook/test`, {}, asProgram);
  expect([session, clientToken, webhookSecret].map((secret) => secret.length > 20)).toEqual([true, true, true]);
  return { session, clientToken, webhookSecret, wrongPassword, webhookAddress: new URL(url).pathname };
}

test("secrets from every possible source appear in no log, stream, answer or table", async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, "service.ts"), source);
  await using standIn = await startStandIn("anthropic", script);
  const admin = async (...args: string[]) => {
    const { stdout, stderr, code } = await runCommand([...args, "--data-dir", folder.path, "--json"]);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout) as Record<string, string>;
  };
  const { orgId = "" } = await admin("orgs", "create", "Test", "--tier", "sandbox");
  const { agentId = "", apiKey = "" } = await admin("agents", "create", "ContractSystem", "--org", orgId);
  const { runtimeKey = "" } = await admin("runtime-keys", "create", "--agent", agentId);
  const serviceToken = (await runCommand(["generate", "service-token"])).stdout.trim();
  await using serve = startCommand(["serve", "--port", "0", "--data-dir", folder.path, "--json"], {
    env: {
      ...standIn.env,
      PATCHBAY_LOG: "debug",
      OPERATOR_SECRET: HIDDEN["environment of the control plane"],
      PATCHBAY_INIT_ORG: "Test",
      PATCHBAY_INIT_SERVICE_TOKEN: serviceToken,
      PATCHBAY_INIT_OWNER_EMAIL: "owner@example.com",
      PATCHBAY_INIT_OWNER_PASSWORD: GIVEN["password of the owner"],
      PATCHBAY_METRICS_TOKEN: GIVEN["metrics token"],
    },
  });
  const { baseUrl: url } = JSON.parse(await serve.seen(/^\{"ready".*\}$/m)) as { baseUrl: string };
  await using runtime = startCommand(["connect", "service.ts", "--json"], {
    cwd: folder.path,
    env: {
      PATCHBAY_URL: url,
      PATCHBAY_AGENT: agentId,
      PATCHBAY_RUNTIME_KEY: runtimeKey,
      PATCHBAY_LOG: "debug",
      OWNER_SECRET: HIDDEN["environment of the runtime"],
    },
  });
  await runtime.seen(/^\{"ready".*\}$/m);
  const desk = client({ url }, { agentId, apiKey, accessToken: "" });

  const outputs: string[] = [];
  for (const way of ["calls", "refused", "broken", "cut"]) {
    const query = `${CONVERSATION.query} ${way}`;
    outputs.push(JSON.stringify(await desk.query(query, { role: "user" })));
    outputs.push((await desk.stream(query, { includeDeltas: true })).text);
  }
  const canary = HIDDEN["a bad request's header"];
  for (const headers of [{ "x-api-key": `service_live_${canary}` }, { authorization: `Bearer ${canary}` }])
    outputs.push(await (await desk.post(`/agents/${agentId}/query`, "{", headers)).text());
  outputs.push(
    await (await desk.post(`/agents/${agentId}/query`, { query: "hi" }, { "x-api-key": runtimeKey })).text(),
  );
  for (const path of ["/metrics", "/openapi.json", "/readyz", "/nowhere"])
    outputs.push(await (await desk.get(path)).text());
  const bearer = { authorization: `Bearer ${GIVEN["metrics token"]}` };
  expect((await desk.get("/metrics", bearer)).status).toBe(200);
  const made = await secretsMade(desk, { agentId, serviceToken });

  for (const command of [runtime, serve]) command.process.kill("SIGTERM");
  const written = async ({ finished }: Running): Promise<string> => {
    const { stdout, stderr } = await finished;
    return stdout + stderr;
  };
  const logs = { plane: await written(serve), runtime: await written(runtime) };
  const file = join(folder.path, "patchbay.db");
  using database = readDatabase(file);
  const tables = database.rows<{ name: string }>("select name from sqlite_master where type = 'table'");
  const kept =
    tables.map(({ name }) => JSON.stringify(database.rows(`select * from "${name}"`))).join("\n") +
    readFileSync(file, "latin1");

  // The search works: it finds the conversation in the answers and in the database.
  expect(outputs.join("\n")).toContain(CONVERSATION.result);
  expect(kept).toContain(CONVERSATION.argument);
  expect(standIn.requests.length).toBeGreaterThan(8);
  for (const message of ["request", "run ended", "call ended"]) expect(logs.plane).toContain(`"message":"${message}"`);
  for (const name of ["show", "fail"])
    expect(logs.runtime).toMatch(new RegExp(`"message":"call ended".*"functionName":"${name}"`));

  const found: string[] = [];
  const look = (where: string, text: string, secrets: Record<string, string>): void => {
    for (const [name, secret] of Object.entries(secrets)) if (text.includes(secret)) found.push(`${name} in ${where}`);
  };
  const keys = {
    "API key": apiKey,
    "runtime key": runtimeKey,
    "provider key": STAND_IN_KEY,
    "service token": serviceToken,
    ...GIVEN,
    "session of the owner": made.session,
  };
  look("answers", outputs.join("\n"), { ...HIDDEN, ...keys });
  look("the database", kept, { ...HIDDEN, ...keys });
  look("what the control plane wrote", logs.plane, { ...HIDDEN, ...keys, ...made, ...CONVERSATION });
  look("what the runtime wrote", logs.runtime, {
    ...keys,
    ...made,
    ...CONVERSATION,
    "environment of the control plane": HIDDEN["environment of the control plane"],
    "the provider's error": HIDDEN["the provider's error"],
    "a restricted field of a result": HIDDEN["a restricted field of a result"],
  });
  printFigure("canary secrets", {
    secrets: Object.keys({ ...HIDDEN, ...keys, ...made, ...CONVERSATION }).length,
    "KB searched": Math.round(
      (kept.length + logs.plane.length + logs.runtime.length + outputs.join("").length) / 1_000,
    ),
    found: found.length,
  });
  expect(found).toEqual([]);
});
