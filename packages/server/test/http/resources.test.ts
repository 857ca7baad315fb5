import { describe, expect, test } from "vitest";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import { API_KEY, QUERY, RUNTIME_KEY, startHttp, STREAM } from "./support/start-http.ts";

describe("the service's own routes", () => {
  test("readyz is 200 when ready, else 503 with Retry-After", async () => {
    let ready = true;
    await using http = await startHttp({ ready: async () => ready });
    expect((await fetch(`${http.url}/readyz`)).status).toBe(200);
    ready = false;
    const response = await fetch(`${http.url}/readyz`);
    expect(response.status).toBe(503);
    expect(response.headers.has("Retry-After")).toBe(true);
  });

  test("readyz is 503 when the check fails", async () => {
    await using http = await startHttp({ ready: async () => Promise.reject(new StoreUnavailable("gone")) });
    expect((await fetch(`${http.url}/readyz`)).status).toBe(503);
  });

  test("readyz is 503 when the check does not end", async () => {
    await using http = await startHttp({ ready: () => new Promise<boolean>(() => {}) });
    expect((await fetch(`${http.url}/readyz`)).status).toBe(503);
  });

  test("a plain GET of /functions/connect is 401 without a runtime key and 400 with one", async () => {
    await using http = await startHttp();
    const path = `${http.url}/functions/connect`;
    expect((await fetch(path)).status).toBe(401);
    expect((await fetch(path, { headers: { Authorization: `Bearer ${API_KEY}` } })).status).toBe(401);
    const response = await fetch(path, { headers: { Authorization: `Bearer ${RUNTIME_KEY}` } });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("WebSocket");
  });

  test("queries are counted by endpoint and outcome", async () => {
    await using http = await startHttp();
    await http.post(QUERY, { query: "hi" });
    await http.post(QUERY, { query: "" });
    await (await http.post(STREAM, { query: "hi" })).text();
    await http.post("/agent/query-stream", { query: "hi" });
    expect(http.counts).toEqual([
      "query accepted",
      "query invalid_request",
      "query-stream accepted",
      "local authentication_failed",
    ]);
  });
});

test.each(["/agents/agent-1/runs/run-1/feedback", "/agents/agent-1/approvals/apr-1/decision"])(
  "%s counts as a request that begins no query",
  async (path) => {
    const refusing = { allowed: false, limit: 600, remaining: 0, resetSeconds: 7 };
    await using http = await startHttp({ adapterLimit: async () => refusing });

    const refused = await http.post(path, { score: 1, approved: true });

    expect(refused.status).toBe(429);
    expect(refused.headers.get("Retry-After")).toBe("7");
    expect(await refused.json()).toMatchObject({ code: "rate_limited" });
  },
);
