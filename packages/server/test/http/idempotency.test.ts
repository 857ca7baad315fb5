import { LIMITS } from "@patchbay/protocol";
import { describe, expect, test } from "vitest";
import type { ProvenCaller } from "@patchbay/engine/ports/callers";
import { provenCaller } from "../accounts/proven-caller.ts";
import { QUERY, startHttp, STREAM } from "./support/start-http.ts";

const key = { "Idempotency-Key": "order-7" };

describe("an Idempotency-Key", () => {
  test("joins the first run, and is counted as joined", async () => {
    await using http = await startHttp();

    const first = await http.post(QUERY, { query: "hi", role: "support" }, key);
    const second = await http.post(QUERY, { query: "hi", role: "support" }, key);

    expect(await second.json()).toEqual(await first.json());
    expect(second.headers.get("X-Run-Id")).toBe(first.headers.get("X-Run-Id"));
    expect(http.runs.starts).toHaveLength(1);
    expect(http.counts).toEqual(["query accepted", "query joined"]);
  });

  test("treats equal JSON with other spacing and order as the same body", async () => {
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

  test.each([
    ["another sub", provenCaller("eve")],
    ["other roles", { ...provenCaller("ada"), roles: ["chief"] }],
    ["another context", { ...provenCaller("ada"), context: { tenant: 8 } }],
  ])("and the body of a proven caller with %s is 422, and starts nothing", async (_what, other) => {
    // The token is what it proves.
    await using http = await startHttp({ proveCaller: async (token) => JSON.parse(token) as ProvenCaller });
    const of = (caller: ProvenCaller) => ({ ...key, "X-Patchbay-Caller": JSON.stringify(caller) });
    const first = await http.post(QUERY, { query: "hi" }, of(provenCaller("ada")));
    expect(first.status).toBe(200);

    for (const path of [QUERY, STREAM]) {
      expect((await http.post(path, { query: "hi" }, of(other))).status).toBe(422);
      expect((await http.post(path, { query: "hi" }, key)).status).toBe(422);
    }

    const again = await http.post(QUERY, { query: "hi" }, of(provenCaller("ada")));
    expect(again.headers.get("X-Run-Id")).toBe(first.headers.get("X-Run-Id"));
    expect(http.runs.starts).toHaveLength(1);
  });

  test.each([
    ["not JSON", "{", 400],
    ["no QueryRequest", "{}", 400],
    ["too large", "x".repeat(LIMITS.bodyBytes + 1), 413],
  ])("that is new does not change the error of a body that is %s", async (_what, body, status) => {
    await using http = await startHttp();
    expect((await http.post(QUERY, body, key)).status).toBe(status);
    expect((await http.post(QUERY, { query: "hi" }, key)).status).toBe(200);
  });

  test("of 1 to 255 characters is accepted, an empty or longer one is 400", async () => {
    await using http = await startHttp();
    const statuses = [];
    for (const length of [0, 1, 255, 256])
      statuses.push((await http.post(QUERY, { query: "hi" }, { "Idempotency-Key": "k".repeat(length) })).status);
    expect(statuses).toEqual([400, 200, 200, 400]);
  });
});
