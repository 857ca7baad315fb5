import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { hasNginx, startNginx } from "../support/nginx.ts";
import { startStandIn } from "./stand-in-replica.ts";

const SHIPPED = readFileSync(new URL("../../deploy/nginx.conf", import.meta.url), "utf8");
const busy = (response: Response) => ({
  success: false,
  errorMessage: expect.stringMatching(/^Too many/),
  code: "rate_limited",
  requestId: response.headers.get("x-request-id"),
});

describe.runIf(hasNginx())("the limits of nginx for one address", () => {
  test.each([
    ["POST", "/agents/agt_1/query-stream"],
    ["GET", "/agents/agt_1/runs/run_1/events"],
    ["GET", "/functions/connect"],
    ["GET", "/console/agents"],
    ["GET", "/openapi.json"],
  ])("open streams leave no place for %s %s, until one ends", async (method, path) => {
    await using replica = await startStandIn((request, response) => {
      if (request.url !== "/api/live") return response.end("{}");
      return response.writeHead(200, { "Content-Type": "text/event-stream" }).write("data: first\n\n");
    });
    await using nginx = await startNginx({
      replicas: [replica.port],
      replace: { "limit_conn connections 256;": "limit_conn connections 2;" },
    });
    const ask = () => fetch(nginx.url + path, { method });
    const leave = new AbortController();
    const live = (signal?: AbortSignal) => fetch(`${nginx.url}/api/live`, signal && { signal });
    const [kept] = await Promise.all([live(), live(leave.signal)]);
    const refused = await ask();
    expect([refused.status, await refused.json()]).toEqual([429, busy(refused)]);
    expect(refused.headers.get("retry-after")).toBe("2");
    expect(replica.asked).toEqual(["GET /api/live", "GET /api/live"]);

    leave.abort();
    await expect.poll(async () => (await ask()).status).toBe(200);
    await kept.body!.cancel();
  });

  test("only attempts to sign in are limited, and not the rest of the console", async () => {
    await using replica = await startStandIn((_request, response) => response.end("{}"));
    // One attempt in a minute: a slow machine gets none back during the test.
    await using nginx = await startNginx({
      replicas: [replica.port],
      replace: { "rate=30r/m": "rate=1r/m", "burst=20": "burst=3" },
    });
    const paths = ["/api/session", "/api/session/confirm", "/api/links", "/api/links/open", "/api/session"];
    const statuses: number[] = [];
    for (const path of paths)
      statuses.push((await fetch(nginx.url + path, { method: "POST", headers: { "idempotency-key": path } })).status);
    expect(statuses).toEqual([200, 200, 200, 200, 429]);
    const refused = await fetch(`${nginx.url}/api/links/open?x=1`, { method: "POST" });
    expect([refused.status, await refused.json()]).toEqual([429, busy(refused)]);
    for (const [method, path] of [
      ["GET", "/api/session"],
      ["DELETE", "/api/session"],
      ["POST", "/api/agents"],
      ["POST", "/agents/agt_1/query"],
    ] as const)
      expect((await fetch(nginx.url + path, { method })).status, path).toBe(200);
  });
});

test("the shipped limits leave room for an office behind one address", () => {
  expect(SHIPPED).toContain("limit_conn connections 256;");
  expect(SHIPPED).toContain("zone=sign_in:10m rate=30r/m;");
  expect(SHIPPED).toContain("limit_req zone=sign_in burst=20 nodelay;");
  expect(SHIPPED).toContain("proxy_buffering off;");
});
