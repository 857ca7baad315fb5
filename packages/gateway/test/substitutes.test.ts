import { FRAMES_VERSION, type FunctionManifest } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { joinGateway } from "@patchbay/test-support/fake-runtime";
import { fakeManifest } from "@patchbay/test-support/fake-service";
import { startGateway } from "@patchbay/test-support/gateway-server";
import { until } from "@patchbay/test-support/inbox";

const read = { effect: "read", idempotent: false } as const;
const idempotent = { idempotent: true };
const retries = { max: 2 };
const reconciles = true;

/** The runtime that gets a call of a run whose own set has no runtime: `newer`, or none. */
async function substituteFor(change: Partial<FunctionManifest>, newer: Partial<FunctionManifest>) {
  await using server = await startGateway({ arrivalMs: 20 });
  const { signal } = new AbortController();
  const manifest = fakeManifest(["pay"]);
  const join = (instanceId: string, more: Partial<FunctionManifest>) => {
    const functions = manifest.functions.map((one) => ({ ...one, ...more }));
    const set = { ...manifest, functions };
    return joinGateway(server.port, {
      type: "hello",
      version: FRAMES_VERSION,
      instanceId,
      manifest: set,
      concurrency: 4,
      sdk: "hand",
    });
  };
  const own = await join("own", change);
  const { manifestHash } = (await server.gateway.session("agent-a", { signal }))!;
  await join("newer", { description: "A newer one.", ...newer });
  own.socket.terminate();
  await until(() => server.gateway.connectionCount() === 1, "the connection is gone");
  return await server.gateway.assign("agent-a", manifestHash, "pay", { signal });
}

test.each<[string, Partial<FunctionManifest>, Partial<FunctionManifest>]>([
  ["idempotent", idempotent, {}],
  ["a read with retries", { ...read, retries }, {}],
  ["able to find out what a call did", { reconciles }, {}],
  ["idempotent and asks", { ...idempotent, reconciles }, { reconciles }],
])("a call that may be repeated is not given to a set whose function is no longer %s", async (_, before, after) => {
  expect(await substituteFor(before, after)).toBeUndefined();
});

test.each<[string, Partial<FunctionManifest>, Partial<FunctionManifest>]>([
  ["is a write in both", {}, {}],
  ["is idempotent in both", idempotent, idempotent],
  ["is a read in both", { ...read, retries }, read],
  ["was never repeated", read, {}],
])("a call is given to a set whose function %s", async (_, before, after) => {
  expect(await substituteFor(before, after)).toBe("newer");
});
