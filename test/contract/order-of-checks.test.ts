import { describe, expect, test } from "vitest";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import { scriptFor } from "@patchbay/test-support/providers";
import { breakStore, failsWith, failuresOf, startContractSystem } from "./contract-system.ts";

const answering = scriptFor({ text: "Hello." });
const bare = { local: true, providers: {} };

describe.each(["query", "query-stream"] as const)("POST {base_url}/agents/{agent_id}/%s", (endpoint) => {
  test("1. key missing, malformed, unknown or revoked -> 401 Authentication failed", async () => {
    await using system = await startContractSystem(answering);
    const { keyId, apiKey: revoked } = await system.plane.admin.createKey({ agentId: system.agentId });
    await system.plane.admin.credentials.revoke("api", keyId);
    const last = system.apiKey.at(-1) === "a" ? "b" : "a";

    const keys = [
      "",
      "secret",
      "k".repeat(5_000),
      system.apiKey.slice(0, -1) + last,
      revoked,
      system.runtimeKey,
      system.accessToken,
    ];
    for (const key of keys) {
      const response = await system.post(system.path(endpoint), { query: "hi" }, { "x-api-key": key });
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({
        success: false,
        errorMessage: "Authentication failed",
        code: "authentication_failed",
      });
    }
    const none = await fetch(system.url + system.path(endpoint), { method: "POST" });
    const bearer = { method: "POST", headers: { authorization: `Bearer ${system.apiKey}` } };
    expect([none.status, (await fetch(system.url + system.path(endpoint), bearer)).status]).toEqual([401, 401]);
    expect(system.standIn.requests).toHaveLength(0);
  });

  test("2. key valid, but not this agent's (an unknown agent id included) -> 403 Agent ID mismatch", async () => {
    await using system = await startContractSystem(answering);
    const other = await system.plane.admin.createAgent("Other", { orgId: system.orgId });
    const named = { "x-request-id": "same" };

    const foreign = await system.post(`/agents/${other.agentId}/${endpoint}`, { query: "hi" }, named);
    const unknown = await system.post(`/agents/agt_nobody/${endpoint}`, "{", named);

    expect([foreign.status, unknown.status]).toEqual([403, 403]);
    const body = await foreign.text();
    expect(await unknown.text()).toBe(body); // nothing leaks whether it exists
    expect(JSON.parse(body)).toMatchObject({ errorMessage: "Agent ID mismatch", code: "agent_mismatch" });
  });

  test("3. rate limit of the organisation's tier exceeded -> 429, Retry-After and the RateLimit headers", async () => {
    const tiers = { small: { queriesPerMinute: 2, charged: false } };
    await using system = await startContractSystem(answering, { tier: "small", tiers });
    const second = await system.plane.admin.createAgent("Second", { orgId: system.orgId });

    const first = await system.post(system.path(endpoint), { query: "hi" });
    const other = await system.post(`/agents/${second.agentId}/query`, { query: "hi" }, { "x-api-key": second.apiKey });
    const refused = await system.post(system.path(endpoint), "not even JSON", { "content-type": "text/plain" });

    expect([first.status, other.status, refused.status]).toEqual([200, 200, 429]);
    expect(first.headers.get("RateLimit-Policy")).toBe('"default";q=2;w=60');
    expect(first.headers.get("RateLimit")).toMatch(/^"default";r=1;t=\d+$/);
    expect(refused.headers.get("RateLimit")).toMatch(/^"default";r=0;t=\d+$/);
    expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(0);
    expect(await refused.json()).toMatchObject({ code: "rate_limited" });
    expect((await system.post(`/agents/${second.agentId}/${endpoint}`, "{")).status).toBe(403); // checked before
    await first.text();
  });

  test("3. a known Idempotency-Key is answered from its run before the rate limit is checked", async () => {
    const tiers = { small: { queriesPerMinute: 1, charged: false } };
    await using system = await startContractSystem(answering, { tier: "small", tiers });
    const key = { "idempotency-key": "once" };

    const first = await system.post(system.path(), { query: "hi" }, key);
    const joined = await system.post(system.path(endpoint), { query: "hi" }, key);

    expect([first.status, joined.status]).toEqual([200, 200]);
    expect(joined.headers.get("X-Run-Id")).toBe(first.headers.get("X-Run-Id"));
    await joined.text();
    expect((await system.post(system.path(endpoint), { query: "hi" })).status).toBe(429);
  });

  test("4. and 5. content type, size, QueryRequest and the roles of a pinned key are checked in this order", async () => {
    await using system = await startContractSystem(answering);
    const pinned = await system.plane.admin.createKey({ agentId: system.agentId, roles: ["support"] });
    const key = { "x-api-key": pinned.apiKey };
    const large = "x".repeat(1_048_577);

    const statuses = [
      await system.post(system.path(endpoint), large, { ...key, "content-type": "text/plain" }),
      await system.post(system.path(endpoint), large, key),
      await system.post(system.path(endpoint), { query: "", role: "admin" }, key),
      await system.post(system.path(endpoint), { query: "hi", role: "admin" }, key),
    ].map(({ status }) => status);

    expect(statuses).toEqual([415, 413, 400, 403]);
  });

  test("5. a key pinned to roles, asked for another role -> 403 Role not allowed for this key", async () => {
    await using system = await startContractSystem(answering);
    const pinned = await system.plane.admin.createKey({ agentId: system.agentId, roles: ["support", "clerk"] });
    const ask = (key: string, role?: string) =>
      system.post(system.path(endpoint), { query: "hi", ...(role && { role }) }, { "x-api-key": key });

    const refused = await ask(pinned.apiKey, "admin");
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({
      errorMessage: "Role not allowed for this key",
      code: "role_not_allowed",
    });
    for (const role of ["support", "clerk", undefined]) {
      const allowed = await ask(pinned.apiKey, role);
      expect(allowed.status).toBe(200);
      await allowed.text();
    }
    const unpinned = await ask(system.apiKey, "admin"); // keys are not pinned unless their owner wants it
    expect(unpinned.status).toBe(200);
    expect(unpinned.headers.has("RateLimit")).toBe(false); // a sandbox has no rate limit
    await unpinned.text();
    expect(system.sent().map(({ functions }) => functions.includes("refund"))).toEqual([true, false, false, true]);
  });
});

test("6. checked in this order: provider configured, functions connected, credits", async () => {
  await using nothing = await startContractSystem(answering, { ...bare, tier: "starter", connected: false });
  expect(await failuresOf(nothing)).toEqual(failsWith("provider_not_configured", "No model provider is configured"));

  await using unconnected = await startContractSystem(answering, { tier: "starter", connected: false });
  expect(await failuresOf(unconnected)).toEqual(failsWith("agent_session_not_found", "Agent session not found"));

  await using poor = await startContractSystem(answering, { tier: "starter" });
  expect(await failuresOf(poor)).toEqual(failsWith("insufficient_credits", "Insufficient credits"));
  expect(poor.standIn.requests).toHaveLength(0);

  await poor.plane.admin.grant(poor.orgId, "5");
  expect(await poor.query("hi")).toMatchObject({ success: true, response: "Hello." });
});

test("6. outside sandbox a query with a balance of 0 is rejected, also for a free model", async () => {
  await using system = await startContractSystem(answering, { tier: "starter", providers: { offline: true } });

  expect(await system.query("hi")).toMatchObject({ success: false, code: "insufficient_credits" });

  await system.plane.admin.grant(system.orgId, "0.01");
  expect(await system.query("hi")).toMatchObject({ success: true });
  expect(await system.plane.admin.showCredits(system.orgId)).toMatchObject({ balanceUsd: 0.01 });
});

test("6. a failure during the run is an error inside a response: HTTP 200, or the last event", async () => {
  await using system = await startContractSystem(scriptFor({ error: { status: 401 } }));

  expect(await failuresOf(system)).toEqual(
    failsWith("provider_error", "Provider openai failed: it refused the configured API key"),
  );
});

test("6. when the store is unavailable before a run starts: 503 with Retry-After", async () => {
  await using system = await startContractSystem(answering);
  const { store } = system.plane;

  for (const part of ["accounts", "runs"] as const)
    for (const path of [system.path("query"), system.path("query-stream")]) {
      using _broken =
        part === "runs"
          ? breakStore(store, "runs", ["start"], new StoreUnavailable("SQLITE_FULL"))
          : breakStore(store, "accounts", ["findCredential", "agentWithBalance"], new StoreUnavailable("SQLITE_FULL"));
      const response = await system.post(path, { query: "hi" });
      expect(response.status).toBe(503);
      expect(Number(response.headers.get("Retry-After"))).toBeGreaterThan(0);
      expect(await response.json()).toMatchObject({ success: false, code: "unavailable" });
    }
  expect(system.standIn.requests).toHaveLength(0);
  expect(await system.query("hi")).toMatchObject({ success: true });
});
