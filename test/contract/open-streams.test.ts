import { describe, expect, test } from "vitest";
import { callThenAnswer } from "@patchbay/test-support/providers";
import { openStream, typed } from "./open-stream.ts";
import { startContractSystem, type ContractSystem } from "./contract-system.ts";

const waiting = callThenAnswer([{ name: "wait", arguments: { id: "a" } }]);

/** Opens the stream of a new query whose run waits for its function. */
async function openQuery(system: ContractSystem, headers: Record<string, string> = {}) {
  const stream = openStream(await system.post(system.path("query-stream"), { query: "hi" }, headers));
  await stream.until(typed("toolCall"));
  return stream;
}

const resume = (system: ContractSystem, runId: string, apiKey = system.apiKey) =>
  system.get(`/agents/${system.agentId}/runs/${runId}/events`, { "x-api-key": apiKey });

async function refusalOf(response: Response) {
  const { code, errorMessage } = (await response.json()) as Record<string, string>;
  return { status: response.status, retryAfter: response.headers.get("Retry-After"), code, errorMessage };
}

const refused = (says: string) => ({
  status: 429,
  retryAfter: "5",
  code: "rate_limited",
  errorMessage: expect.stringContaining(says) as string,
});

async function metricOf(system: ContractSystem, name: string): Promise<string | undefined> {
  const page = await (await system.get("/metrics")).text();
  return page.split("\n").find((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
}

describe("a limit on open event streams rejects resumes and further readers with 429 and Retry-After", () => {
  test("of one run by one key", async () => {
    await using system = await startContractSystem(waiting, { limits: { streamsPerRun: 2 } });
    const { apiKey } = await system.plane.admin.createKey({ agentId: system.agentId });
    const first = await openQuery(system);
    const second = openStream(await resume(system, first.runId));

    expect(await refusalOf(await resume(system, first.runId))).toEqual(refused("2 event streams of this run"));
    expect((await resume(system, first.runId, apiKey)).status).toBe(200);
    expect(await metricOf(system, 'patchbay_streams_refused_total{limit="streamsPerRun"}')).toMatch(/ 1$/);

    await second.leave();
    await expect.poll(async () => (await resume(system, first.runId)).status).toBe(200);
    system.desk.release("a");
  });

  test("of one key", async () => {
    await using system = await startContractSystem(waiting, { limits: { streamsPerKey: 1 } });
    const first = await openQuery(system);

    expect(await refusalOf(await resume(system, first.runId))).toEqual(refused("This key has 1 event streams open"));
    system.desk.release("a");
  });

  test("of an organisation, across its agents", async () => {
    await using system = await startContractSystem(waiting, { limits: { streamsPerOrganisation: 1 } });
    const first = await openQuery(system);
    const { apiKey } = await system.plane.admin.createKey({ agentId: system.agentId });

    expect(await refusalOf(await resume(system, first.runId, apiKey))).toEqual(
      refused("The organisation has 1 event streams open"),
    );
    system.desk.release("a");
  });

  test("and rejects queries outside sandbox before a run starts", async () => {
    await using system = await startContractSystem(waiting, { limits: { streamsPerKey: 1 }, tier: "starter" });
    await system.plane.admin.grant(system.orgId, "5");
    await openQuery(system);

    const response = await system.post(system.path("query-stream"), { query: "hi" });

    expect(await refusalOf(response)).toEqual(refused("This key has 1 event streams open"));
    expect(await system.plane.store.runs.list(system.agentId, { limit: 9 })).toHaveLength(1);
    system.desk.release("a");
  });
});

test("a query in sandbox waits until a stream ends, then starts", async () => {
  await using system = await startContractSystem(waiting, { limits: { streamsPerKey: 1 } });
  const first = await openQuery(system);

  const second = system.post(system.path("query-stream"), { query: "hi" });
  await expect.poll(() => metricOf(system, "patchbay_streams_waiting")).toBe("patchbay_streams_waiting 1");
  expect(await system.plane.store.runs.list(system.agentId, { limit: 9 })).toHaveLength(1);
  await first.leave();

  const stream = openStream(await second);
  system.desk.release("a");
  expect(await stream.rest()).toContain("finalResponse");
  expect(await metricOf(system, "patchbay_streams_waiting")).toBe("patchbay_streams_waiting 0");
});

test("a query that waits for a free stream is rejected when its key is revoked", async () => {
  await using system = await startContractSystem(waiting, { limits: { streamsPerOrganisation: 1 } });
  const { apiKey, keyId } = await system.plane.admin.createKey({ agentId: system.agentId });
  await openQuery(system);

  const second = system.post(system.path("query-stream"), { query: "hi" }, { "x-api-key": apiKey });
  await expect.poll(() => metricOf(system, "patchbay_streams_waiting")).toBe("patchbay_streams_waiting 1");
  await system.plane.admin.credentials.revoke("api", keyId);

  expect((await second).status).toBe(401);
  expect(await system.plane.store.runs.list(system.agentId, { limit: 9 })).toHaveLength(1);
  system.desk.release("a");
});

describe("an open stream ends after a complete event, with retry, once its access is revoked; its run continues", () => {
  const ENDED = /\n\nretry: 1000\n\n$/;

  test("an API key; streams of other keys stay open", async () => {
    await using system = await startContractSystem(waiting);
    const { apiKey, keyId } = await system.plane.admin.createKey({ agentId: system.agentId });
    const kept = await openQuery(system);
    const ended = await openQuery(system, { "x-api-key": apiKey });

    await system.plane.admin.credentials.revoke("api", keyId);
    const text = await ended.rest();
    system.desk.release("a");

    expect(text).toMatch(ENDED);
    expect(text).not.toContain("waited for a");
    expect(await kept.rest()).toContain("finalResponse");
    await expect
      .poll(async () => (await system.plane.store.runs.get(system.agentId, ended.runId))?.status)
      .toBe("succeeded");
  });

  test("an access token of the local variant", async () => {
    await using system = await startContractSystem(waiting);
    const { accessToken, tokenId } = await system.plane.admin.createToken({ agentId: system.agentId });
    const headers = { authorization: `Bearer ${accessToken}` };
    const stream = openStream(await system.post("/agent/query-stream", { query: "hi" }, headers));
    await stream.until(typed("function_call"));

    await system.plane.admin.credentials.revoke("access", tokenId);

    expect(await stream.rest()).toMatch(ENDED);
    system.desk.release("a");
  });
});
