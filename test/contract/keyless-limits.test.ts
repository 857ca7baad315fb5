import { afterAll, beforeAll, expect, test } from "vitest";
import { startIssuer } from "@patchbay/test-support/issuer";
import { callThenAnswer, type Script, scriptFor } from "@patchbay/test-support/providers";
import { openStream, typed } from "./open-stream.ts";
import { startContractSystem } from "./contract-system.ts";

let issuer: Awaited<ReturnType<typeof startIssuer>>;
beforeAll(async () => void (issuer = await startIssuer()));
afterAll(async () => await issuer?.[Symbol.asyncDispose]());

/** A system whose agent needs no key. `asked` sends a request as a caller, with only a token. */
async function start(script: Script, options: Parameters<typeof startContractSystem>[1] = {}) {
  const callers = { issuer: issuer.url, audience: issuer.audience };
  const system = await startContractSystem(script, { callers, ...options });
  await system.plane.admin.updateAgent(system.agentId, { settings: { callers: "keyless" } });
  const send = async (sub: string, method: string, path: string, body?: object) =>
    await fetch(`${system.url}/agents/${system.agentId}${path}`, {
      method,
      headers: { "content-type": "application/json", authorization: `Bearer ${await issuer.token({ sub })}` },
      ...(body && { body: JSON.stringify(body) }),
    });
  const query = async (sub: string) => {
    const response = await send(sub, "POST", "/query", { query: "hi" });
    const json = (await response.json()) as { code?: string; runId: string; success: boolean };
    return { status: response.status, retryAfter: response.headers.get("Retry-After"), ...json };
  };
  return { ...system, send, query };
}

const answer = scriptFor({ text: "Hello." });

test("callers without a key share the rate limit of their organisation with its keys", async () => {
  await using system = await start(answer, {
    tier: "small",
    tiers: { small: { queriesPerMinute: 2, charged: false } },
  });

  expect([(await system.query("ada")).status, (await system.query("eve")).status]).toEqual([200, 200]);
  expect(await system.query("ada")).toMatchObject({
    status: 429,
    code: "rate_limited",
    retryAfter: expect.stringMatching(/^\d+$/),
  });
  expect((await system.post(system.path(), { query: "hi" })).status).toBe(429);
});

test("callers without a key use the credits of their organisation", async () => {
  await using system = await start(answer, { tier: "paid", tiers: { paid: { queriesPerMinute: 100, charged: true } } });

  expect(await system.query("ada")).toMatchObject({ status: 200, success: false, code: "insufficient_credits" });
  await system.plane.admin.grant(system.orgId, "1");
  expect(await system.query("ada")).toMatchObject({ status: 200, success: true });
  expect(await system.plane.store.accounts.balance(system.orgId)).toBeLessThan(1_000_000);
});

test("the limit on open event streams counts those of each caller", async () => {
  await using system = await start(callThenAnswer([{ name: "wait", arguments: { id: "a" } }]), {
    limits: { streamsPerKey: 1 },
  });
  const first = openStream(await system.send("ada", "POST", "/query-stream", { query: "hi" }));
  await first.until(typed("toolCall"));
  const resume = async (sub: string) => await system.send(sub, "GET", `/runs/${first.runId}/events`);

  expect((await resume("ada")).status).toBe(429);
  const other = openStream(await system.send("eve", "POST", "/query-stream", { query: "hi" }));
  await other.until(typed("toolCall"));
  expect((await resume("eve")).status).toBe(404);
  system.desk.release("a");
  await Promise.all([first.leave(), other.leave()]);
});

test("feedback belongs to the caller of the run", async () => {
  await using system = await start(answer);
  const { runId } = await system.query("ada");
  const path = `/runs/${runId}/feedback`;

  expect((await system.send("eve", "POST", path, { score: -1 })).status).toBe(404);
  expect((await system.send("ada", "POST", path, { score: 1 })).status).toBe(204);
  expect((await system.send("eve", "DELETE", path)).status).toBe(404);
  expect((await system.send("ada", "DELETE", path)).status).toBe(204);
});
