import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "@patchbay/functions";
import { silentLog } from "@patchbay/kit";
import { service } from "../../../../examples/embedded/main.ts";
import { createControlPlane } from "../../src/start/control-plane.ts";
import type { ControlPlaneOptions } from "../../src/start/options.ts";

const ORIGIN = "http://shop.example";
const start = async (options: Partial<ControlPlaneOptions> = {}) => {
  const plane = await createControlPlane({
    database: "sqlite::memory:",
    port: false,
    publicUrl: `${ORIGIN}/patchbay/`,
    providers: { offline: true },
    log: silentLog,
    ...options,
  });
  onTestFinished(() => plane.close({ graceMs: 0 }));
  return plane;
};

/** A server that prepares each request as `before` says, and passes it on. */
async function serverWith(
  plane: Awaited<ReturnType<typeof start>>,
  before: (request: IncomingMessage) => Promise<void>,
) {
  const server = createServer(async (request, response) => {
    await before(request);
    plane.listener(request, response);
  });
  server.on("upgrade", plane.upgrade);
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An agent with a connected runtime. Returns how to send it a query. */
async function agentOf(plane: Awaited<ReturnType<typeof start>>, url: string) {
  const { agentId, apiKey } = await plane.admin.createAgent("Warehouse");
  const { runtimeKey: key } = await plane.admin.createRuntimeKey({ agentId });
  const runtime = connect(service, { url: `${url}/patchbay`, agentId, key, log: silentLog });
  onTestFinished(() => runtime.stop({ drainMs: 0 }));
  await runtime.ready;
  const init = {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-API-Key": apiKey, "X-Request-Id": "mine" },
    body: JSON.stringify({ query: "Hello" }),
  };
  return (at: string, path: string) => new Request(`${at}/patchbay/agents/${agentId}/${path}`, init);
}

test("a control plane without a port needs an address, whose path does not contain the console's", async () => {
  await expect(start({ publicUrl: undefined as never })).rejects.toThrow("Set publicUrl");
  for (const path of ["/console", "/console/mine", "/shop/console"])
    await expect(start({ publicUrl: ORIGIN + path })).rejects.toThrow(
      `The path of publicUrl, ${path}, contains /console`,
    );
  const plane = await start();
  expect([plane.url, plane.port, plane.metricsUrl]).toEqual([`${ORIGIN}/patchbay`, 0, `${ORIGIN}/patchbay/metrics`]);
});

test.each([
  ["/patchbay/healthz", 200],
  ["/healthz", 404],
  ["/patchbay/healthz?probe=1", 200],
  ["/patchbay", 302],
  ["/patchbay?page=1", 302],
  ["/patchbayhealthz", 404],
  ["/patchbay/patchbay/healthz", 404],
  ["/other/healthz", 404],
])("%s is answered with %i by fetch and by the listener", async (path, status) => {
  const plane = await start();
  const url = await serverWith(plane, async () => {});

  expect((await plane.fetch(new Request(ORIGIN + path))).status).toBe(status);
  expect((await fetch(url + path, { redirect: "manual" })).status).toBe(status);
});

test("a rule of the host for a path holds: the prefix is removed exactly once", async () => {
  const plane = await start();
  const url = await serverWith(plane, async (request) => {
    // As Express does for app.use("/patchbay", …).
    Object.assign(request, { originalUrl: request.url, url: request.url!.replace(/^\/patchbay/, "") });
  });
  expect((await fetch(`${url}/patchbay/healthz`)).status).toBe(200);
  const twice = await fetch(`${url}/patchbay/patchbay/healthz`);
  expect([twice.status, await twice.json()]).toMatchObject([404, { code: "not_found" }]);
});

test("the paths of a publicUrl are not removed from requests to a port, where a proxy has done it", async () => {
  const plane = await start({ port: 0 });
  expect((await fetch(`${plane.url}/healthz`)).status).toBe(200);
  expect((await fetch(`${plane.url}/patchbay/healthz`)).status).toBe(404);
});

test("a local control plane refuses foreign hosts also by fetch", async () => {
  const plane = await start({ local: true, publicUrl: "http://127.0.0.1:3000/patchbay" });
  const status = async (origin: string) => (await plane.fetch(new Request(`${origin}/patchbay/healthz`))).status;
  expect([await status("http://127.0.0.1:3000"), await status("http://evil.example")]).toEqual([200, 400]);
});

test("fetch passes the body and the headers on, and streams", async () => {
  const plane = await start();
  const request = await agentOf(plane, await serverWith(plane, async () => {}));

  const answer = await plane.fetch(request(ORIGIN, "query"));
  expect([answer.status, answer.headers.get("X-Request-Id")]).toEqual([200, "mine"]);
  expect(await answer.json()).toMatchObject({ success: true });
  const stream = await plane.fetch(request(ORIGIN, "query-stream"));
  expect(await stream.text()).toContain("finalResponse");
});

test("a request whose body was read before gets 500 with the cure, unless the bytes were kept", async () => {
  const plane = await start();
  const { agentId, apiKey } = await plane.admin.createAgent("Shop");
  const ask = async (url: string) => {
    const answer = await fetch(`${url}/patchbay/agents/${agentId}/query`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-API-Key": apiKey },
      body: JSON.stringify({ query: "Hello" }),
    });
    return { status: answer.status, ...((await answer.json()) as object) };
  };

  const read = await serverWith(plane, async (request) => void (await text(request)));
  expect(await ask(read)).toMatchObject({
    status: 500,
    errorMessage: expect.stringContaining("Mount it before body parsers"),
  });
  const kept = await serverWith(plane, async (request) => {
    Object.assign(request, { rawBody: await buffer(request) });
  });
  expect(await ask(kept)).toMatchObject({ status: 200 });
});

test("the Request and Response of the host's process stay as they are", async () => {
  const { Request: ownRequest, Response: ownResponse } = globalThis;
  const url = await serverWith(await start(), async () => {});
  expect((await fetch(`${url}/patchbay/healthz`)).status).toBe(200);
  expect([globalThis.Request, globalThis.Response]).toEqual([ownRequest, ownResponse]);
});

test("close lets a run end, and its stream with it", async () => {
  const answered = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const plane = await start({
    wrapModel: (model) => ({
      ...model,
      async *stream(...request) {
        asked.resolve();
        await answered.promise;
        yield* model.stream(...request);
      },
    }),
  });
  const url = await serverWith(plane, async () => {});
  const request = await agentOf(plane, url);

  const stream = await fetch(request(url, "query-stream"));
  await asked.promise;
  const closed = plane.close();
  answered.resolve();
  expect(await stream.text()).toContain("finalResponse");
  await closed;
});
