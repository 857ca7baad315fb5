import { LIMITS } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import { answerOf } from "./support/fake-runs.ts";
import { parseSse } from "./support/sse.ts";
import { METERED_KEY, QUERY, startHttp, STREAM } from "./support/start-http.ts";

const key = { "Idempotency-Key": "order-7" };

describe("an Idempotency-Key", () => {
  test("joins the first run: endpoint 1 returns what it returned", async () => {
    await using http = await startHttp();

    const first = await http.post(QUERY, { query: "hi", role: "support" }, key);
    const second = await http.post(QUERY, { query: "hi", role: "support" }, key);

    expect(await second.json()).toEqual(await first.json());
    expect(second.headers.get("X-Run-Id")).toBe(first.headers.get("X-Run-Id"));
    expect(http.runs.starts).toHaveLength(1);
    expect(http.counts).toEqual(["query accepted", "query joined"]);
  });

  test("lets endpoint 1 wait for a run that endpoint 2 began, for they share the key", async () => {
    await using http = await startHttp();
    http.runs.onBegin = () => undefined;
    const stream = await http.post(STREAM, { query: "hi" }, key);
    const run = [...http.runs.runs.values()][0]!;

    const joined = http.post(QUERY, { query: "hi" }, key);
    await run.until(({ readers }) => readers.length === 2);
    const { result, event } = answerOf(run);
    run.end(result, event);

    expect(await (await joined).json()).toEqual(result);
    expect(parseSse(await stream.text())).toHaveLength(1);
  });

  test("lets endpoint 2 replay the run from its first event", async () => {
    await using http = await startHttp();
    http.runs.onBegin = (run) => {
      run.store({ type: "thought", content: "first" });
      const { result, event } = answerOf(run);
      run.end(result, event);
    };
    await http.post(QUERY, { query: "hi" }, key);

    const replayed = await http.post(STREAM, { query: "hi" }, key);

    expect(parseSse(await replayed.text()).map((event) => event.id)).toEqual(["1", "2"]);
    expect(http.runs.starts).toHaveLength(1);
  });

  test("takes the same JSON, however it is written, for the same body", async () => {
    await using http = await startHttp();
    await http.post(QUERY, '{"query":"hi","llmConfig":{"provider":"openai","model":"m"}}', key);
    const other = await http.post(
      QUERY,
      '{ "llmConfig": {"model":"\\u006d", "provider":"openai"}, "query":"hi" }',
      key,
    );
    expect(other.status).toBe(200);
    expect(http.runs.starts).toHaveLength(1);
  });

  test.each([
    ["another query", '{"query":"ho"}'],
    ["a further member", '{"query":"hi","role":"admin"}'],
    ["no JSON", "{"],
    ["too much", "x".repeat(LIMITS.bodyBytes + 1)],
  ])("with %s in the body is 422", async (_what, body) => {
    await using http = await startHttp();
    await http.post(QUERY, { query: "hi" }, key);
    for (const path of [QUERY, STREAM]) {
      const response = await http.post(path, body, key);
      expect(response.status).toBe(422);
      expect(await response.json()).toMatchObject({ code: "idempotency_mismatch" });
    }
  });

  test("is scoped to the agent", async () => {
    await using http = await startHttp();
    await http.post(QUERY, { query: "hi" }, key);
    const other = await http.post(
      "/agents/agent-2/query",
      { query: "ho" },
      { ...key, "X-API-Key": "service_live_other" },
    );
    expect(other.status).toBe(200);
    expect(http.runs.starts).toHaveLength(2);
  });

  test("that is known is answered before the rate limit, and does not count for it", async () => {
    let left = 1;
    await using http = await startHttp({
      rateLimit: async () => ({ allowed: left-- > 0, limit: 60, remaining: 0, resetSeconds: 9 }),
    });
    const metered = { ...key, "X-API-Key": METERED_KEY };

    const first = await http.post(QUERY, { query: "hi" }, metered);
    const joined = await http.post(QUERY, { query: "hi" }, metered);

    expect([first.status, joined.status, left]).toEqual([200, 200, 0]);
    const fresh = await http.post(QUERY, { query: "hi" }, { ...metered, "Idempotency-Key": "another" });
    expect(fresh.status).toBe(429);
  });

  test.each([
    ["not JSON", "{", 400],
    ["no QueryRequest", "{}", 400],
    ["too large", "x".repeat(LIMITS.bodyBytes + 1), 413],
  ])("that is new gives a body that is %s what it gets without one", async (_what, body, status) => {
    await using http = await startHttp();
    expect((await http.post(QUERY, body, key)).status).toBe(status);
    expect((await http.post(QUERY, { query: "hi" }, key)).status).toBe(200);
  });

  test("of 1 and of 255 characters is taken, an empty or longer one is 400", async () => {
    await using http = await startHttp();
    const statuses = [];
    for (const length of [0, 1, 255, 256])
      statuses.push((await http.post(QUERY, { query: "hi" }, { "Idempotency-Key": "k".repeat(length) })).status);
    expect(statuses).toEqual([400, 200, 200, 400]);
  });

  test("with a hash of the body reaches the core", async () => {
    await using http = await startHttp();
    await http.post(QUERY, { query: "hi" }, key);
    expect(http.runs.starts[0]?.query.idempotency).toEqual({
      key: "order-7",
      bodyHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });
});
