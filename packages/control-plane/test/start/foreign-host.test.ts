import { expect, test } from "vitest";
import { createControlPlane } from "../../src/start/control-plane.ts";
import { silentLog } from "@patchbay/kit";
import { openSocket, requestText } from "../../../server/test/http/support/raw-socket.ts";

const options = { database: "sqlite::memory:", port: 0, log: silentLog };
const PATHS = [
  "/",
  "/console",
  "/api/session",
  "/metrics",
  "/healthz",
  "/readyz",
  "/openapi.json",
  "/agents/x/threads",
];
const UPGRADE = { Connection: "Upgrade", Upgrade: "websocket" };

async function statusOf(port: number, path: string, headers: Record<string, string>, method = "GET"): Promise<number> {
  using socket = await openSocket(port);
  socket.write(requestText(method, path, { Connection: "close", ...headers }));
  return Number((await socket.closed()).split(" ", 2)[1]);
}

test("a development server on a loopback address refuses foreign names on every path", async () => {
  const plane = await createControlPlane({ ...options, local: true });
  for (const Host of [
    "rebind.example",
    `rebind.example:${plane.port}`,
    "localhost.evil.example",
    "127.0.0.1.nip.example",
  ])
    for (const path of PATHS) expect([path, await statusOf(plane.port, path, { Host })]).toEqual([path, 400]);
  const message = { "Content-Type": "application/json" };
  const toMcp = await fetch(`http://127.0.0.1:${plane.port}/agents/x/mcp`, {
    method: "POST",
    body: "{}",
    headers: message,
  });
  expect(toMcp.status).toBe(401);
  expect(await statusOf(plane.port, "/agents/x/mcp", { Host: "rebind.example" }, "POST")).toBe(403);
  expect(await statusOf(plane.port, "/functions/connect", { ...UPGRADE, Host: "rebind.example" })).toBe(400);
  for (const Host of ["localhost", `127.0.0.1:${plane.port}`, "[::1]:1", "app.localhost"])
    expect(await statusOf(plane.port, "/healthz", { Host })).toBe(200);
  await plane.close();
});

test("a server on an open address, one with that public URL, and serve answer to any name", async () => {
  const Host = "desk.example";
  for (const more of [{ local: true, host: "0.0.0.0" }, { local: true, publicUrl: "https://desk.example" }, {}]) {
    const plane = await createControlPlane({ ...options, ...more });
    expect(await statusOf(plane.port, "/healthz", { Host })).toBe(200);
    await plane.close();
  }
});
