import { expect, test } from "vitest";
import { openSocket, requestText } from "./support/raw-socket.ts";
import { startHttp } from "./support/start-http.ts";

async function ask(target: string, headers: Record<string, string> = {}): Promise<string> {
  await using http = await startHttp();
  using socket = await openSocket(http.port);
  socket.write(requestText("GET", target, { Connection: "close", ...headers }));
  return await socket.closed();
}

test.each([
  "/api/%2e%2e/metrics",
  "/api/%2E%2e/metrics",
  "/api/.%2e/metrics",
  "/api/../metrics",
  "/./metrics",
  "/%2e/metrics",
  "/api/..%2fmetrics",
  "/api%2f..%2fmetrics",
  "/api/..%5cmetrics",
  "/api/..\\metrics",
  "/console/%2e%2e/%2e%2e/metrics",
  "/agents/%2e%2e/query?x=1",
  "/agents/..",
  "/agents/%2e%2e",
  "/healthz/x/..#y",
  "/healthz/x/%2e%2e#y",
])("a dot segment in %s is refused before a route is chosen", async (target) => {
  const received = await ask(target);
  expect(received).toMatch(/^HTTP\/1\.1 400 /);
  expect(received).toContain('"code":"invalid_request"');
  expect(received).toMatch(/x-request-id: /i);
});

test.each(["/metrics?path=/../x", "/metrics?a=%2e%2e/", "/.well-known/x", "/agents/a..b/x", "/agents/.../x", "/a%2fb"])(
  "dots elsewhere in %s are not",
  async (target) => {
    expect(await ask(target)).toMatch(/^HTTP\/1\.1 (200|404) /);
  },
);
