import { connect, silentLog } from "@patchbay/functions";
import { expect, test } from "vitest";
import { runCommand, startCommand, temporaryFolder } from "../../packages/cli/test/support/command.ts";
import { callThenAnswer, startStandIn } from "@patchbay/test-support/providers";
import { client } from "@patchbay/test-support/system";
import { createTestService } from "./test-service.ts";

type Made = Record<string, string>;

async function startServe(folder: string, env: Record<string, string>, ...more: string[]) {
  const serve = startCommand(["serve", "--port", "0", "--data-dir", folder, "--json", ...more], { env });
  const { baseUrl } = JSON.parse(await serve.seen(/^\{"ready".*\}$/m)) as { baseUrl: string };

  /** Administration directly on the database while the server runs. */
  async function admin(...args: string[]): Promise<Made> {
    const { code, stdout, stderr } = await runCommand([...args, "--data-dir", folder, "--json"]);
    if (code !== 0) throw new Error(`${args.join(" ")}: ${stderr}`);
    return JSON.parse(stdout) as Made;
  }

  function as({ agentId = "", apiKey = "", accessToken = "" }: Made) {
    return client({ url: baseUrl }, { agentId, apiKey, accessToken });
  }
  return { ...serve, baseUrl, admin, as };
}

test("serve: no provider key = provider_not_configured, and the local variant is not served", async () => {
  await using folder = await temporaryFolder();
  await using serve = await startServe(folder.path, {});
  const agent = await serve.admin("agents", "create", "ContractSystem");
  const token = await serve.admin("tokens", "create", "--agent", agent["agentId"] ?? "");

  expect(await serve.as(agent).query("hi")).toMatchObject({ success: false, code: "provider_not_configured" });
  await expect(serve.as({ ...agent, ...token }).local("hi")).rejects.toThrow("status 404");
  const { agentId = "", apiKey = "" } = agent;
  const doctor = await runCommand(["doctor", "--url", serve.baseUrl, "--agent", agentId, "--key", apiKey, "--json"]);
  const { checks } = JSON.parse(doctor.stdout) as { checks: { name: string; message: string; fix: string }[] };
  expect(checks.find(({ name }) => name === "query")).toMatchObject({
    message: "No model provider is configured",
    fix: expect.stringContaining("PATCHBAY_PROVIDER=offline"),
  });
});

test("administration works while a server runs: tiers, credits, keys pinned to roles, revoking", async () => {
  await using folder = await temporaryFolder();
  await using serve = await startServe(folder.path, { PATCHBAY_PROVIDER: "offline" });
  const org = await serve.admin("orgs", "create", "Shop", "--tier", "starter");
  const agent = await serve.admin("agents", "create", "ContractSystem", "--org", org["orgId"] ?? "");
  const { agentId = "", keyId = "" } = agent;
  const [{ runtimeKey = "" }, pinned] = await Promise.all([
    serve.admin("runtime-keys", "create", "--agent", agentId),
    serve.admin("keys", "create", "--agent", agentId, "--roles", "support,clerk"),
  ]);
  const connection = connect(createTestService().service, {
    url: serve.baseUrl,
    agentId,
    key: runtimeKey,
    log: silentLog,
  });
  await connection.ready;
  const [mine, theirs] = [serve.as(agent), serve.as(pinned)];

  // Tiers other than sandbox start without credits.
  expect(await mine.query("report")).toMatchObject({ errorMessage: "Insufficient credits" });
  expect(await serve.admin("credits", "grant", "--org", org["orgId"] ?? "", "1.5")).toMatchObject({ balanceUsd: 1.5 });
  expect(await mine.query("report")).toMatchObject({ success: true });

  const limited = await mine.post(`/agents/${agentId}/query`, { query: "report" });
  expect(limited.headers.get("RateLimit-Policy")).toBe('"default";q=60;w=60');
  await expect(theirs.query("hi", { role: "admin" })).rejects.toThrow("Role not allowed for this key");
  expect(await theirs.query("report", { role: "clerk" })).toMatchObject({ success: true });

  await serve.admin("keys", "revoke", keyId);
  await expect(mine.query("report")).rejects.toThrow("status 401");
  expect((await serve.admin("runs", "list", "--agent", agentId))["items"]).toHaveLength(4);
  await connection.stop({ drainMs: 0 });
});

test("providers are configured by environment variables; --run-timeout and --cors-origin apply to every query", async () => {
  await using folder = await temporaryFolder();
  const asked = callThenAnswer([{ name: "look_up", arguments: { id: "1" } }], () => "There.");
  await using standIn = await startStandIn("anthropic", (request, turn) =>
    request.query.endsWith("never") ? { text: "x", stallAfterBytes: 1 } : asked(request, turn),
  );
  const env = { ...standIn.env, PATCHBAY_MODEL: "claude-opus-4-6", PATCHBAY_CORS_ORIGIN: "https://shop.example" };
  await using serve = await startServe(folder.path, env, "--run-timeout", "10");
  const agent = await serve.admin("agents", "create", "ContractSystem", "--instructions", "Speak like a clerk.");
  const { agentId = "" } = agent;
  const { runtimeKey = "" } = await serve.admin("runtime-keys", "create", "--agent", agentId);
  const connection = connect(createTestService().service, {
    url: serve.baseUrl,
    agentId,
    key: runtimeKey,
    log: silentLog,
  });
  await connection.ready;

  const desk = serve.as(agent);
  const never = desk.query("never");
  expect(await desk.query("hi")).toMatchObject({ success: true, response: "There." });
  expect(standIn.requests[0]?.summary).toMatchObject({ model: "claude-opus-4-6" });
  expect(standIn.requests[0]?.summary.system).toContain("Speak like a clerk.");
  const named = await desk.post(`/agents/${agentId}/query`, { query: "hi" }, { origin: "https://shop.example" });
  expect(named.headers.get("Access-Control-Allow-Origin")).toBe("https://shop.example");
  expect(await never).toMatchObject({ success: false, errorMessage: "Run timed out" });
  await connection.stop({ drainMs: 0 });
});

test("--provider-idle, or PATCHBAY_PROVIDER_IDLE, ends requests to a provider that sends nothing, before the run times out", async () => {
  await using folder = await temporaryFolder();
  await using standIn = await startStandIn("openai-chat", () => ({ text: "x", stallAfterBytes: 1 }));
  const env = { ...standIn.env, PATCHBAY_PROVIDER_IDLE: "1" };
  await using serve = await startServe(folder.path, env, "--run-timeout", "60");
  const agent = await serve.admin("agents", "create", "ContractSystem");
  const { agentId = "" } = agent;
  const { runtimeKey = "" } = await serve.admin("runtime-keys", "create", "--agent", agentId);
  const options = { url: serve.baseUrl, agentId, key: runtimeKey, log: silentLog };
  const connection = connect(createTestService().service, options);
  await connection.ready;

  const { success, code, errorMessage } = await serve.as(agent).query("hi");
  expect({ success, code }).toEqual({ success: false, code: "provider_error" });
  // On a busy machine, the idle time may pass before a request has arrived.
  expect(errorMessage).toBe("Provider openai failed: its answer was cut off");
  expect(standIn.requests.length).toBeGreaterThan(0);
  await connection.stop({ drainMs: 0 });

  const refused = await runCommand(["serve", "--provider-idle", "0", "--data-dir", folder.path]);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("from 1 to 3600") });
});
