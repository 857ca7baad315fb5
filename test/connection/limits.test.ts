import { connect, silentLog, type Connection, type Log } from "@patchbay/functions";
import { afterEach, expect, test } from "vitest";
import { startGateway, type GatewayServer } from "@patchbay/test-support/gateway-server";
import { fakeService } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";

let server: GatewayServer;
const runtimes: Connection[] = [];

afterEach(async () => {
  await Promise.all(runtimes.splice(0).map((runtime) => runtime.stop({ drainMs: 0 })));
  await server[Symbol.asyncDispose]();
});

/** A runtime with the lines of its log. */
function runtimeOf(service = fakeService()) {
  const lines: { level: string; message: string; reason: unknown }[] = [];
  const write =
    (level: string) =>
    (message: string, { reason }: Record<string, unknown> = {}) =>
      void lines.push({ level, message, reason });
  const log: Log = { ...silentLog, warn: write("warn"), error: write("error"), child: () => log };
  const backoff = { firstMs: 10, baseMs: 10, maxMs: 50 };
  const runtime = connect(service, { url: `http://127.0.0.1:${server.port}`, key: "key-of-a", log, backoff });
  runtimes.push(runtime);
  return { runtime, lines };
}

test("a runtime beyond the connections of its key logs the reason, and connects when another one stops", async () => {
  server = await startGateway({ limits: { connectionsPerKey: 1 } });
  const first = runtimeOf();
  await first.runtime.ready;
  const { runtime, lines } = runtimeOf();
  await until(() => lines.length > 0, "the refusal");

  await first.runtime.stop();
  await runtime.ready;

  expect(lines).toEqual([
    {
      level: "warn",
      message: "the control plane refused this connection: a limit is reached; trying again",
      reason:
        "This runtime key has reached its limit of open connections (1). Create another key for further runtimes (patchbay runtime-keys create --agent ID), stop unneeded ones, or ask the operator to raise connectionsPerKey.",
    },
  ]);
});

test("a function set that exceeds a limit stops a new runtime, and a connected one serves its earlier set", async () => {
  server = await startGateway({ limits: { rolesPerService: 2 } });
  const service = fakeService();
  const many = { ...service, manifest: { ...service.manifest, roles: ["a", "b", "c"] } };
  const reason = "3 roles exceed rolesPerService (2). Use fewer roles, and authorize().";
  const refused = runtimeOf(many).runtime;
  refused.ready.catch(() => {});

  await expect(refused.ended).rejects.toMatchObject({
    code: "manifest_refused",
    message: expect.stringContaining(reason),
  });

  const { runtime, lines } = runtimeOf(service);
  await runtime.ready;
  runtime.update(many);
  await until(() => lines.some((line) => line.reason === reason), "a refusal in the log");
  expect(runtime.state).toBe("connected");
});
