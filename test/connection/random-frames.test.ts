import { connect, silentLog } from "@patchbay/functions";
import { CLOSE_CODES } from "@patchbay/protocol";
import * as fc from "@patchbay/test-support/properties";
import { connect as dial } from "node:net";
import { expect, test } from "vitest";
import { orderFor, startGateway } from "@patchbay/test-support/gateway-server";
import { callFrame, startFakeControlPlane } from "@patchbay/test-support/fake-control-plane";
import { joinGateway, helloFrom } from "@patchbay/test-support/fake-runtime";
import { fakeService } from "@patchbay/test-support/fake-service";

const TYPES = ["hello", "result", "progress", "callState", "prepared", "draining", "welcome", "call", "cancel"];
const frameLike = fc.record(
  {
    type: fc.constantFrom(...TYPES, "callQuery", "resultAck", "prepare", "goingAway", "__proto__"),
    callId: fc.oneof(fc.string(), fc.constant("c1"), fc.integer()),
    id: fc.string(),
    attempt: fc.oneof(fc.integer(), fc.double()),
    outcome: fc.oneof(fc.jsonValue(), fc.record({ ok: fc.boolean(), value: fc.jsonValue() })),
    state: fc.constantFrom("running", "done", "unseen", "asleep"),
    data: fc.jsonValue(),
    arguments: fc.jsonValue(),
    context: fc.jsonValue(),
    timeoutMs: fc.integer(),
    reason: fc.string(),
  },
  { requiredKeys: ["type"] },
);
const garbage = fc.oneof(
  fc.string(),
  fc.json(),
  frameLike.map((frame) => JSON.stringify(frame)),
  fc.uint8Array(),
);

test("random frames of a runtime do not break the gateway or its other runtimes", async () => {
  await using server = await startGateway();
  const honest = await joinGateway(server.port, helloFrom("honest"));
  const signal = new AbortController().signal;

  await fc.assert(
    fc.asyncProperty(fc.array(garbage, { minLength: 1, maxLength: 40 }), async (frames) => {
      const runtime = await joinGateway(server.port, helloFrom("hostile"));
      const order = orderFor("hostile", { callId: "c1", timeoutMs: 1 });
      const abort = new AbortController();
      const hostile = server.gateway.deliver(order, { signal: abort.signal }).catch(() => {});
      for (const frame of frames) runtime.socket.send(frame);
      runtime.socket.close();
      const { code } = await runtime.closed;
      abort.abort();
      await hostile;
      expect([1005, CLOSE_CODES.badFrame]).toContain(code);
    }),
    { numRuns: 60 },
  );

  const delivery = server.gateway.deliver(orderFor("honest"), { signal });
  const { callId } = await honest.next("call");
  honest.send({ type: "result", callId, attempt: 1, outcome: { ok: true, value: 1 } });
  expect(await delivery).toMatchObject({ kind: "outcome" });
});

test("random frames of a control plane do not break the runtime", async () => {
  await using plane = await startFakeControlPlane();
  const runtime = connect(fakeService(), { url: plane.url, key: "key-of-a", log: silentLog });
  const connection = await plane.welcome();

  await fc.assert(
    fc.asyncProperty(fc.array(garbage.filter(notGoingAway), { maxLength: 40 }), async (frames) => {
      for (const frame of frames) connection.socket.send(frame);
    }),
    { numRuns: 60 },
  );

  connection.send(callFrame("after all that"));
  const { outcome } = await connection.inbox.next(
    (frame): frame is Extract<typeof frame, { type: "result" }> =>
      frame.type === "result" && frame.callId === "after all that",
  );
  expect(outcome.ok).toBe(true);
  await runtime.stop({ drainMs: 0 });
});

/** A goingAway frame makes the runtime open a second connection, which other tests cover. */
function notGoingAway(frame: string | Uint8Array): boolean {
  return typeof frame !== "string" || !frame.includes("goingAway");
}

test("random bytes before or in place of an upgrade do not break the gateway", async () => {
  await using server = await startGateway();
  const upgrade =
    "GET /functions/connect HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
    "Authorization: Bearer key-of-a\r\n";
  const valid = `${upgrade}Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;

  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("", "GET ", `${upgrade}\r\n`, valid),
      fc.uint8Array({ maxLength: 300 }),
      async (start, bytes) => {
        const socket = dial({ port: server.port, host: "127.0.0.1" });
        socket.on("error", () => {}).resume();
        socket.end(Buffer.concat([Buffer.from(start), bytes]));
        await new Promise((resolve) => socket.once("close", resolve));
      },
    ),
    { numRuns: 60 },
  );

  await joinGateway(server.port);
  expect(await server.gateway.connected("agent-a")).toBe(true);
});
