import { connect, defineFunction, defineService, everyone, silentLog } from "@patchbay/functions";
import { describe, expect, test } from "vitest";
import { freePort } from "@patchbay/test-support/free-port";
import { hasNginx, type NginxOptions, startNginx } from "../support/nginx.ts";
import { readAlong } from "@patchbay/test-support/reader";
import { client, startSystem } from "@patchbay/test-support/system";
import { draining, startStandIn } from "./stand-in-replica.ts";

const service = defineService({
  name: "greeter",
  functions: [
    defineFunction({
      name: "greet_visitor",
      description: "Greets the visitor.",
      input: { type: "object" },
      roles: everyone,
      effect: "read",
      handler: () => "welcome",
    }),
  ],
});

/** A real control plane and other replicas behind nginx. */
async function startBehind(others: number[], options: Partial<NginxOptions> = {}) {
  await using opening = new AsyncDisposableStack();
  const system = opening.use(await startSystem({ service }));
  const nginx = opening.use(await startNginx({ replicas: [...others, system.plane.port], ...options }));
  const opened = opening.move();
  return {
    ...client(nginx, system),
    system,
    nginx,
    path: `/agents/${system.agentId}/query`,
    runs: async () => (await system.plane.admin.listRuns(system.agentId)).items.length,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const statuses = (responses: Response[]) => responses.map(({ status }) => status);

describe.runIf(hasNginx())("replicas behind nginx", () => {
  test("a stopped replica is skipped, also for queries without an Idempotency-Key", async () => {
    // The 12 queries may take longer than the 2 s of the file.
    const replace = { "fail_timeout=2s": "fail_timeout=60s" };
    await using behind = await startBehind([await freePort()], { replace });
    const asked = await inTurn(12, () => behind.post(behind.path, { query: "greet the visitor" }));
    expect(statuses(asked)).toEqual(Array(12).fill(200));

    const tries = (await behind.nginx.passages(12)).map(({ replicas }) => replicas.length);
    expect(tries).toContain(2);
    expect(tries.filter((count) => count === 2).length, "the dead one is left alone for a while").toBeLessThan(4);
  });

  test("after a 503 a query with an Idempotency-Key goes to the next replica", async () => {
    await using stopping = await startStandIn(draining);
    await using behind = await startBehind([stopping.port]);
    const asked = await inTurn(6, (i) =>
      behind.post(behind.path, { query: "greet the visitor" }, { "idempotency-key": `key-${i}` }),
    );
    expect(statuses(asked)).toEqual(Array(6).fill(200));
    expect(stopping.asked.length).toBeGreaterThan(0);
  });

  test("the 503 of a query without a key reaches the client, and no second run begins", async () => {
    await using stopping = await startStandIn(draining);
    await using behind = await startBehind([stopping.port]);
    const asked = await inTurn(6, () => behind.post(behind.path, { query: "greet the visitor" }));
    const refused = asked.filter(({ status }) => status === 503);
    expect(refused.length).toBe(stopping.asked.length);
    expect(refused.length).toBeGreaterThan(0);
    expect(Object.fromEntries(refused[0]!.headers)).toMatchObject({ "retry-after": "1", "x-run-id": "run_elsewhere" });
    expect(await behind.runs()).toBe(6 - refused.length);
  });

  test("a query whose replica dies is repeated only with an Idempotency-Key", async () => {
    await using dying = await startStandIn((_request, response) => response.destroy());
    await using behind = await startBehind([dying.port]);
    const query = { query: "greet the visitor" };
    const once = await inTurn(4, () => behind.post(behind.path, query));
    const lost = once.filter(({ status }) => status !== 200);
    expect(lost.length).toBeGreaterThan(0);
    expect(lost[0]!.status).toBe(502);
    expect(lost[0]!.headers.get("retry-after")).toBe("1");
    expect(await lost[0]!.json()).toMatchObject({ success: false, code: "unavailable", requestId: expect.any(String) });
    expect(await behind.runs()).toBe(4 - lost.length);

    const keyed = await inTurn(6, (i) => behind.post(behind.path, query, { "idempotency-key": `key-${i}` }));
    expect(statuses(keyed)).toEqual(Array(6).fill(200));
  });

  test("without a replica the answer is a 503 in the form of the service, not a page of nginx", async () => {
    await using nginx = await startNginx({ replicas: [await freePort()] });
    const response = await fetch(`${nginx.url}/agents/agt_1/threads`, { headers: { "x-request-id": "mine" } });
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("1");
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual({
      success: false,
      errorMessage: expect.any(String),
      code: "unavailable",
      requestId: "mine",
    });
  });

  test("a runtime's WebSocket moves from a stopping replica to another one, and its calls are answered", async () => {
    await using stopping = await startStandIn(draining);
    await using system = await startSystem();
    await using nginx = await startNginx({ replicas: [stopping.port, await freePort(), system.plane.port] });
    const { agentId, runtimeKey: key } = system;
    const links = [1, 2, 3].map(() => connect(service, { url: nginx.url, agentId, key, log: silentLog }));
    await Promise.all(links.map(({ ready }) => ready));
    try {
      expect(stopping.asked).toContain("upgrade /functions/connect");
      const answer = await client(nginx, system).query("greet the visitor", {}, { "idempotency-key": "greeting" });
      expect(answer.toolInteractions).toMatchObject([{ toolName: "greet_visitor", success: true, result: "welcome" }]);
    } finally {
      await Promise.all(links.map((link) => link.stop({ drainMs: 0 })));
    }
  });

  test("a stream whose replica dies breaks for its client, without a regular end", async () => {
    await using dying = await startStandIn((_request, response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream" });
      response.write('id: 1\ndata: {"type":"thought","content":"."}\n\n', () => response.destroy());
    });
    await using nginx = await startNginx({ replicas: [dying.port] });
    const reader = readAlong(await fetch(`${nginx.url}/agents/agt_1/query-stream`, { method: "POST", body: "{}" }));
    expect(await reader.over).toBe(false);
  });
});

async function inTurn<T>(count: number, take: (index: number) => Promise<T>): Promise<T[]> {
  const all: T[] = [];
  for (let i = 0; i < count; i++) all.push(await take(i));
  return all;
}
