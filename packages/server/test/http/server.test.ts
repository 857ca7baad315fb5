import { describe, expect, test } from "vitest";
import { answerOf } from "./support/fake-runs.ts";
import { openSocket, requestText } from "./support/raw-socket.ts";
import { API_KEY, QUERY, startHttp, STREAM } from "./support/start-http.ts";

const UPGRADE = {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
};

describe("connections to upgrade", () => {
  test("of /functions/connect reach the gateway unchanged", async () => {
    const seen: (string | undefined)[] = [];
    await using http = await startHttp(
      {},
      {
        upgrade(request, socket) {
          seen.push(request.url, request.headers.authorization);
          socket.end("HTTP/1.1 418 Teapot\r\n\r\n");
        },
      },
    );
    using socket = await openSocket(http.port);
    socket.write(requestText("GET", "/functions/connect?v=1", { ...UPGRADE, Authorization: "Bearer x" }));
    expect(await socket.closed()).toBe("HTTP/1.1 418 Teapot\r\n\r\n");
    expect(seen).toEqual(["/functions/connect?v=1", "Bearer x"]);
  });

  test("of other paths are answered as normal requests", async () => {
    await using http = await startHttp();
    for (const [path, status] of [
      ["/nowhere", 404],
      ["/healthz", 200],
      [QUERY, 405],
    ] as const) {
      using socket = await openSocket(http.port);
      socket.write(requestText("GET", path, UPGRADE));
      const received = await socket.until((text) => text.includes("\r\n\r\n"));
      expect(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(received).toMatch(/x-request-id/i);
    }
  });

  test("to HTTP/2, which some clients offer with every request, do not disturb a query", async () => {
    await using http = await startHttp();
    using socket = await openSocket(http.port);
    const body = '{"query":"hi"}';
    const h2c = { Connection: "Upgrade, HTTP2-Settings", Upgrade: "h2c", "HTTP2-Settings": "AAEAAEAAAAIAAAAB" };
    const headers = { "X-API-Key": API_KEY, "Content-Type": "application/json", "Content-Length": String(body.length) };
    socket.write(requestText("POST", QUERY, { ...h2c, ...headers }, body));
    expect(await socket.until((text) => text.includes("errorMessage"))).toMatch(/^HTTP\/1\.1 200 /);
  });
});

describe("listening", () => {
  test("on a port in use fails with advice", async () => {
    await using http = await startHttp();
    await using other = await startHttp();
    await other.server.close();
    await expect(other.server.listen({ port: http.port, host: "127.0.0.1" })).rejects.toThrow(
      `Port ${http.port} on 127.0.0.1 is taken by another process. Stop it, or choose another port with --port`,
    );
  });

  test("on an address of another machine fails with advice", async () => {
    await using http = await startHttp();
    await http.server.close();
    await expect(http.server.listen({ port: 0, host: "203.0.113.7" })).rejects.toThrow("Choose another with --host");
  });
});

describe("closing", () => {
  test("closes idle connections and accepts no new ones", async () => {
    const http = await startHttp();
    using idle = await openSocket(http.port);
    idle.write(requestText("GET", "/healthz", {}));
    await idle.until((text) => text.includes("ok"));
    await http.server.close();
    await idle.closed();
    await expect(http.get("/healthz")).rejects.toThrow();
  });

  // A keep-alive connection lasts 75 s, longer than this test may take.
  test("waits for open requests, and not for keep-alive connections", { timeout: 60_000 }, async () => {
    const http = await startHttp();
    http.runs.onBegin = () => undefined;
    const stream = await http.post(STREAM, { query: "hi" });
    const run = [...http.runs.runs.values()][0]!;
    const closing = http.server.close({ graceMs: 600_000 });
    const { result, event } = answerOf(run);
    run.end(result, event);
    expect(await stream.text()).toContain("finalResponse");
    await closing;
  });

  test("cuts requests that do not end in time", async () => {
    const http = await startHttp();
    http.runs.onBegin = () => undefined;
    const stream = await http.post(STREAM, { query: "hi" });
    await http.server.close({ graceMs: 20 });
    await expect(stream.text()).rejects.toThrow();
    const run = [...http.runs.runs.values()][0]!;
    await run.until(({ readers }) => readers.length === 0);
  });

  test("twice has the effect of one call", async () => {
    const http = await startHttp();
    await http.server.close();
    await http.server.close();
  });
});

test("no response names the server software", async () => {
  await using http = await startHttp();
  const response = await http.get("/healthz");
  expect(response.headers.has("Server")).toBe(false);
  expect(response.headers.has("X-Powered-By")).toBe(false);
});
