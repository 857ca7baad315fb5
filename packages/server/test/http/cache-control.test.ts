import { describe, expect, test } from "vitest";
import { ROUTES } from "../../src/query/routes.ts";
import { API_KEY, QUERY, startHttp } from "./support/start-http.ts";

/** Every route that takes a credential, except the WebSocket of a runtime. */
const KEYED = ROUTES.filter(
  ({ id, path }) => (path.startsWith("/agents/") || path.startsWith("/agent/")) && id !== "connect",
);

describe("an answer to a credential", () => {
  test.each(KEYED.map(({ method, path }) => [method, path] as const))(
    "of %s %s is not stored",
    async (method, path) => {
      await using http = await startHttp();
      const url = http.url + path.replace(":agent_id", "agent-1").replaceAll(/:\w+/g, "id-1");
      for (const headers of [
        { "X-API-Key": API_KEY },
        { "X-API-Key": "service_live_unknown" },
        { Authorization: "Bearer unknown" },
      ]) {
        const body = method === "GET" || method === "DELETE" ? null : "{}";
        const response = await fetch(url, {
          method,
          headers: { ...headers, "Content-Type": "application/json" },
          body,
        });
        const isStream = response.headers.get("Content-Type")?.startsWith("text/event-stream") === true;
        expect(response.headers.get("Cache-Control")).toBe(isStream ? "no-cache, no-transform" : "no-store");
        await response.body?.cancel();
      }
    },
  );

  test("is not stored either when its path or its method does not exist", async () => {
    await using http = await startHttp();
    for (const [method, path] of [
      ["GET", "/agents/agent-1/nowhere"],
      ["DELETE", QUERY],
    ] as const) {
      const response = await fetch(http.url + path, { method, headers: { "X-API-Key": API_KEY } });
      expect(response.headers.get("Cache-Control")).toBe("no-store");
    }
  });
});

test("a public document may be stored", async () => {
  await using http = await startHttp();
  expect((await fetch(`${http.url}/openapi.json`)).headers.get("Cache-Control")).toBeNull();
});
