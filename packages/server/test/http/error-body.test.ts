import { describe, expect, test } from "vitest";
import { ROUTES } from "../../src/query/routes.ts";
import { openSocket, requestText } from "./support/raw-socket.ts";
import { ACCESS_TOKEN, API_KEY, QUERY, RUNTIME_KEY, startHttp, STREAM } from "./support/start-http.ts";

const pathOf = (path: string): string => path.replace(":agent_id", "agent-1").replace(/:\w+/g, "unknown");

describe("the error body", () => {
  test("of a 500 contains neither a stack nor an internal message; the log has both with the request id", async () => {
    await using http = await startHttp();
    http.runs.onStart = () => {
      throw new TypeError("secret detail of table runs");
    };
    for (const path of [QUERY, STREAM]) {
      const response = await http.post(path, { query: "hi" });
      const text = await response.text();

      expect(response.status).toBe(500);
      expect(text).not.toContain("secret detail");
      expect(text).not.toContain("TypeError");
      expect(http.lines.at(-1)).toMatchObject({
        level: "error",
        fields: { requestId: response.headers.get("X-Request-Id"), error: expect.stringContaining("secret detail") },
      });
    }
  });
});

describe("X-Request-Id", () => {
  test("is on every response of every route, with any credentials", async () => {
    await using http = await startHttp();
    const credentials: Record<string, string>[] = [
      {},
      { "X-API-Key": API_KEY },
      { Authorization: `Bearer ${ACCESS_TOKEN}` },
      { Authorization: `Bearer ${RUNTIME_KEY}` },
    ];
    for (const { method, path } of [
      ...ROUTES,
      { method: "GET", path: "/nowhere" },
      { method: "PUT", path: "/healthz" },
    ])
      for (const headers of credentials) {
        const response = await fetch(http.url + pathOf(path), {
          method,
          headers: { ...headers, "Content-Type": "application/json" },
          ...(method === "POST" && { body: '{"query":"hi"}' }),
        });
        expect(response.headers.get("X-Request-Id"), `${method} ${path}`).toMatch(/^req_[\w-]{36}$/);
        expect(response.headers.get("X-Content-Type-Options")).toBe("nosniff");
        await response.text();
      }
  });

  test.each(["a", "A-z_0.9", "x".repeat(128)])(
    "is the client's when it has 1 to 128 characters of A-Za-z0-9._- (%s)",
    async (own) => {
      await using http = await startHttp();
      for (const path of [QUERY, STREAM, "/nowhere"]) {
        const response = await http.post(path, { query: "hi" }, { "X-Request-Id": own });
        expect(response.headers.get("X-Request-Id")).toBe(own);
        await response.text();
      }
    },
  );

  test.each(["", "x".repeat(129), "a b", "ä", "a/b", "a,b"])(
    "is generated when the client's is invalid (%s)",
    async (bad) => {
      await using http = await startHttp();
      const response = await http.get("/healthz", { "X-Request-Id": bad });
      expect(response.headers.get("X-Request-Id")).toMatch(/^req_/);
    },
  );
});

describe("unknown routes and methods", () => {
  test.each([
    "/",
    "/agents",
    "/agents/agent-1",
    "/agents/agent-1/query/",
    "/agents//query",
    "/AGENTS/agent-1/query",
    "/agents/a/b/query",
  ])("%s is 404 with the error body", async (path) => {
    await using http = await startHttp();
    for (const method of ["GET", "POST", "OPTIONS", "DELETE"]) {
      const response = await fetch(http.url + path, { method });
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ code: "not_found" });
    }
  });

  test.each(ROUTES)("$method $path answers 405 with Allow to other methods", async ({ path }) => {
    await using http = await startHttp();
    const taken = ROUTES.filter((route) => route.path === path).map((route) => route.method as string);
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].filter((one) => !taken.includes(one))) {
      const response = await fetch(http.url + pathOf(path), { method });
      expect(response.status, method).toBe(405);
      const allow = response.headers.get("Allow")!.split(", ");
      expect(allow.filter((one) => one !== "HEAD").sort()).toEqual(taken.sort());
      const body = (await response.json()) as { error?: object };
      expect(body.error ?? body).toMatchObject({ code: "method_not_allowed" });
    }
  });

  test("HEAD is answered like GET without a body, but does not open streams", async () => {
    await using http = await startHttp();
    const alive = await fetch(`${http.url}/healthz`, { method: "HEAD" });
    const stream = await fetch(`${http.url}/agents/agent-1/runs/run_1/events`, {
      method: "HEAD",
      headers: { "X-API-Key": API_KEY },
    });
    expect([alive.status, await alive.text()]).toEqual([200, ""]);
    const thread = await fetch(`${http.url}/agents/agent-1/threads/thr_1`, { method: "PUT" });
    expect(stream.status).toBe(405);
    expect(stream.headers.get("Allow")).toBe("GET");
    expect(thread.headers.get("Allow")).toBe("GET, HEAD, DELETE");
  });
});

describe("what is hardly HTTP", () => {
  test.each([
    "\x16\x03\x01\x02\x00\x01\x00\x01",
    "HELLO\r\n\r\n",
    "GET /healthz HTTP/9.9\r\n\r\n",
    "GET /healthz HTTP/1.1\r\nBad Header\r\n\r\n",
  ])("bytes that are not HTTP get a bare 400 and a closed connection", async (bytes) => {
    await using http = await startHttp();
    using socket = await openSocket(http.port);
    socket.write(bytes);
    const received = await socket.closed();
    expect(received).toBe("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  });

  test("headers above 16 KiB are rejected and the connection is closed", async () => {
    await using http = await startHttp();
    using socket = await openSocket(http.port);
    socket.write(requestText("GET", "/healthz", { "X-Long": "x".repeat(20_000) }));
    expect(await socket.closed()).toMatch(/^HTTP\/1\.1 431 /);
  });

  test("a request with an unknown expectation or an invalid Host keeps its X-Request-Id", async () => {
    await using http = await startHttp();
    const exchange = async (headers: Record<string, string>) => {
      using socket = await openSocket(http.port);
      socket.write(requestText("GET", "/healthz", { "X-Request-Id": "mine-1", Connection: "close", ...headers }));
      return await socket.closed();
    };

    expect(await exchange({ Expect: "tea" })).toMatch(/^HTTP\/1.1 200 .*x-request-id: mine-1\r\n/is);
    expect(await exchange({ Host: "a b" })).toMatch(
      /^HTTP\/1.1 400 .*x-request-id: mine-1\r\n.*"requestId":"mine-1"/is,
    );
  });

  test("HTTP/1.0 needs no Host header", async () => {
    await using http = await startHttp();
    for (const [version, status] of [
      ["1.0", 200],
      ["1.1", 400],
    ]) {
      using socket = await openSocket(http.port);
      socket.write(`GET /healthz HTTP/${version}\r\n\r\n`);
      expect(await socket.closed()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    }
  });

  test.each(["a b", "<x>", "a@b:c"])("an invalid Host header (%s) is a 400 with the error body", async (host) => {
    await using http = await startHttp();
    using socket = await openSocket(http.port);
    socket.write(requestText("GET", "/healthz", { Host: host, Connection: "close" }));
    const received = await socket.closed();
    expect(received).toMatch(/^HTTP\/1\.1 400 /);
    expect(received).toMatch(/x-request-id: req_/i);
    expect(received).toContain('"code":"invalid_request"');
  });

  test("invalid bytes after a request do not corrupt its response", async () => {
    await using http = await startHttp();
    http.runs.onBegin = () => undefined;
    using socket = await openSocket(http.port);
    const body = '{"query":"hi"}';
    const headers = { "X-API-Key": API_KEY, "Content-Type": "application/json", "Content-Length": String(body.length) };
    socket.write(requestText("POST", STREAM, headers, body));
    await socket.until((text) => text.includes("\r\n\r\n"));
    socket.write("\x00\x01\x02 garbage\r\n\r\n");
    expect((await socket.closed()).match(/HTTP\/1\.1/g)).toHaveLength(1);
  });
});
