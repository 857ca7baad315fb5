import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import type { Exchange, HttpEnv } from "../../src/kernel/exchange.ts";
import { mountRoutes } from "../../src/kernel/routes.ts";
import { allowOrigin, preflight as answerOtherMethod } from "../../src/query/origins.ts";
import { silentLog } from "@patchbay/kit";
import { silentMetrics } from "@patchbay/engine/ports/metrics";
import { QUERY, startHttp, STREAM } from "./support/start-http.ts";

const ORIGIN = "https://app.example";
const corsHeaders = (response: Response): string[] =>
  [...response.headers.keys()].filter((name) => name.startsWith("access-control-"));

const preflight = (url: string, origin = ORIGIN) =>
  fetch(url, {
    method: "OPTIONS",
    headers: { Origin: origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-api-key" },
  });

describe("without a named origin", () => {
  test("no response has CORS headers, and a preflight is a wrong method", async () => {
    await using http = await startHttp();
    for (const path of [QUERY, STREAM, "/healthz", "/nowhere"]) {
      const response = await http.post(path, { query: "hi" }, { Origin: ORIGIN });
      expect(corsHeaders(response)).toEqual([]);
      await response.text();
    }
    const asked = await preflight(http.url + QUERY);
    expect([asked.status, corsHeaders(asked)]).toEqual([405, []]);
  });
});

describe("with a named origin", () => {
  test("its pages may read every response and its exposed headers", async () => {
    await using http = await startHttp({ corsOrigins: [ORIGIN] });
    for (const path of [QUERY, STREAM, "/nowhere"]) {
      const response = await http.post(path, { query: "hi" }, { Origin: ORIGIN });
      expect(response.headers.get("Access-Control-Allow-Origin")).toBe(ORIGIN);
      expect(response.headers.get("Vary")).toBe("Origin");
      const exposed = response.headers.get("Access-Control-Expose-Headers")!.split(", ");
      expect(exposed).toEqual(expect.arrayContaining(["X-Run-Id", "X-Thread-Id", "X-Request-Id", "RateLimit"]));
      await response.text();
    }
  });

  test("its preflight needs no key", async () => {
    await using http = await startHttp({ corsOrigins: [ORIGIN] });
    const response = await preflight(http.url + QUERY);
    expect(response.status).toBe(204);
    expect(response.headers.get("Access-Control-Allow-Methods")).toBe("POST");
    const allowed = response.headers.get("Access-Control-Allow-Headers")!.split(", ");
    const sent = [
      "X-API-Key",
      "Idempotency-Key",
      "Last-Event-ID",
      "X-Patchbay-Thread",
      "Prefer",
      "traceparent",
      "tracestate",
    ];
    expect(allowed).toEqual(expect.arrayContaining(sent));
  });

  test("pages of other origins get no CORS headers", async () => {
    await using http = await startHttp({ corsOrigins: [ORIGIN] });
    for (const origin of ["https://evil.example", "null", `${ORIGIN}.evil.example`]) {
      expect(corsHeaders(await http.post(QUERY, { query: "hi" }, { Origin: origin }))).toEqual([]);
      expect((await preflight(http.url + QUERY, origin)).status).toBe(405);
    }
  });

  test("a preflight of a path that does not exist is 404", async () => {
    await using http = await startHttp({ corsOrigins: [ORIGIN] });
    expect((await preflight(`${http.url}/nowhere`)).status).toBe(404);
  });
});

test("the origin * allows every page, by its own origin", async () => {
  await using http = await startHttp({ corsOrigins: ["*"] });
  const response = await http.post(QUERY, { query: "hi" }, { Origin: ORIGIN });
  expect(response.headers.get("Access-Control-Allow-Origin")).toBe(ORIGIN);
});

describe("routes for pages", () => {
  const ADAPTER = "/agents/agent-1/ui-stream";
  const app = (corsOrigins: string[] = [], keyless = false) => {
    const app = new Hono<HttpEnv>();
    const route = {
      method: "POST" as const,
      path: "/agents/:agent_id/ui-stream",
      handle: ({ headers }: Exchange) => new Response("ok", { headers }),
    };
    mountRoutes(
      app,
      {
        name: "query",
        metrics: silentMetrics,
        routes: [route],
        log: silentLog,
        documentPath: "/",
        begin: (exchange) => allowOrigin(exchange, corsOrigins, { opens: async () => keyless }),
        answerOtherMethod,
      },
      (answer) => app.notFound(answer),
    );
    return app;
  };
  const token = { Authorization: "Bearer patchbay_ct_x" };
  const asked = (headers: Record<string, string>, corsOrigins?: string[], method = "POST") =>
    app(corsOrigins).request(ADAPTER, { method, headers: { Origin: ORIGIN, ...headers } }, {});
  const allowed = async (...args: Parameters<typeof asked>) =>
    (await asked(...args)).headers.get("Access-Control-Allow-Origin");
  const preflighted = { "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization" };

  test("a page of any origin reads the response to its client token, without credentials", async () => {
    const response = await asked(token);
    expect(response.headers.get("Access-Control-Allow-Origin")).toBe(ORIGIN);
    expect(response.headers.get("Access-Control-Allow-Credentials")).toBeNull();
    expect(response.headers.get("Vary")).toBe("Origin");
  });

  test("configured origins are the only ones", async () => {
    expect(await allowed(token, ["https://other.example"])).toBeNull();
    expect(await allowed(token, [ORIGIN])).toBe(ORIGIN);
    expect(await allowed(preflighted, ["https://other.example"], "OPTIONS")).toBeNull();
  });

  test("a page never reads the response to a key, whatever is configured", async () => {
    for (const key of [
      { "X-API-Key": "k" },
      { "X-API-Key": "k", ...token },
      { Authorization: "Bearer service_live_x" },
      {},
    ])
      for (const origins of [[], [ORIGIN], ["*"]]) expect(await allowed({ ...key }, origins)).toBeNull();
  });

  test("at an agent that needs no key, a page reads the response to its user's token and to none", async () => {
    const read = async (headers: Record<string, string>, origins: string[] = []) =>
      (
        await app(origins, true).request(ADAPTER, { method: "POST", headers: { Origin: ORIGIN, ...headers } }, {})
      ).headers.get("Access-Control-Allow-Origin");
    const jwt = { Authorization: "Bearer a.b.c" };
    for (const headers of [jwt, {}] as Record<string, string>[]) {
      expect(await read(headers)).toBe(ORIGIN);
      expect(await read(headers, [ORIGIN])).toBe(ORIGIN);
      expect(await read(headers, ["https://other.example"])).toBeNull();
      expect(await read({ ...headers, "X-API-Key": "k" })).toBeNull();
    }
    expect(await read({ Authorization: "Bearer service_live_x" })).toBeNull();
    expect(await allowed(jwt)).toBeNull();
  });

  test("a preflight needs no token and allows what clients send", async () => {
    const response = await asked(preflighted, [], "OPTIONS");
    expect(response.status).toBe(204);
    expect(response.headers.get("Access-Control-Allow-Origin")).toBe(ORIGIN);
    expect(response.headers.get("Access-Control-Allow-Methods")).toBe("POST");
    expect(response.headers.get("Access-Control-Allow-Headers")).toMatch(/Authorization.*Mcp-Protocol-Version/);
  });
});
