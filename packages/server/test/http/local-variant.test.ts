import { describe, expect, test } from "vitest";
import { type FakeRun } from "./support/fake-runs.ts";
import { openSocket, requestText } from "./support/raw-socket.ts";
import { ACCESS_TOKEN, startHttp } from "./support/start-http.ts";

const LOCAL = "/agent/query-stream";
const token = { Authorization: `Bearer ${ACCESS_TOKEN}` };

describe("endpoint 3", () => {
  test("sends keepalives too", async () => {
    await using http = await startHttp({ keepaliveMs: 10 });
    http.runs.onBegin = () => undefined;
    const response = await http.post(LOCAL, { query: "hi" }, token);
    const reader = response.body!.getReader();
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toMatch(/^: keepalive\n\n/);
    await reader.cancel();
  });

  test("never cancels the run when the client disconnects", async () => {
    await using http = await startHttp();
    let run: FakeRun | undefined;
    http.runs.onBegin = (begun) => void (run = begun);
    const response = await http.post(LOCAL, { query: "hi" }, { ...token, "X-On-Disconnect": "cancel" });
    expect(run?.readers).toEqual([{ cancelWhenGone: false }]);
    await response.body?.cancel();
  });
});

describe("pages of other sites", () => {
  const body = '{"query":"hi"}';
  async function ask(host: string, more: Record<string, string> = {}, deps: Parameters<typeof startHttp>[0] = {}) {
    await using http = await startHttp(deps);
    using socket = await openSocket(http.port);
    const headers = { ...token, ...more, "Content-Type": "application/json", "Content-Length": String(body.length) };
    socket.write(requestText("POST", LOCAL, { ...headers, Host: host, Connection: "close" }, body));
    return { received: await socket.closed(), starts: http.runs.starts.length };
  }

  test.each(["localhost:8787", "127.0.0.1", "127.9.9.9:1", "[::1]:8787", "LOCALHOST", "app.localhost"])(
    "the Host %s is served",
    async (host) => {
      expect((await ask(host)).received).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  test.each(["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:8787", "10.0.0.1"])(
    "another name for this machine (%s) is rejected with advice",
    async (host) => {
      const { received, starts } = await ask(host);
      expect(received).toMatch(/^HTTP\/1\.1 400 /);
      expect(received).toContain("--host");
      expect(starts).toBe(0);
    },
  );

  test("the host of the public URL is accepted, and any host when the server listens on an open address", async () => {
    expect((await ask("dev.example:1", {}, { publicUrl: "https://dev.example" })).received).toMatch(/^HTTP\/1\.1 200 /);
    expect((await ask("10.0.0.1", {}, { host: "0.0.0.0" })).received).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.each([
    ["https://evil.example", 400, {}],
    ["null", 400, {}],
    ["http://localhost:8787", 200, {}],
    ["http://127.0.0.1:8787", 200, {}],
    ["http://127.0.0.1:787", 400, {}],
    ["http://127.0.0.1", 400, {}],
    ["https://app.example", 200, { corsOrigins: ["https://app.example"] }],
  ])("the Origin %s gets %i", async (origin, status, deps) => {
    const { received } = await ask("localhost:8787", { Origin: origin }, deps);
    expect(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });
});
