import { afterEach, expect, test } from "vitest";
import { gated } from "@patchbay/test-support/fake-service";
import { until } from "@patchbay/test-support/inbox";
import { startCluster, type Cluster } from "./cluster.ts";

let cluster: Cluster;
const signal = new AbortController().signal;

afterEach(() => cluster[Symbol.asyncDispose]());

test("a call with its caller's token goes to a runtime of its replica, however loaded, if there is one", async () => {
  const gate = gated();
  cluster = await startCluster(["x", "y"]);
  const { x, y, desk, run } = await cluster.place({ concurrency: 1, answer: gate.answer }, 0);
  const far = await cluster.connectRuntime(y);
  const assign = (near: boolean) => x.gateway.assign("agent-a", cluster.hash, "echo", { signal, near });
  const delivery = x.gateway.deliver(await cluster.intend(run, desk.instanceId), { signal });
  await until(() => gate.started(1), "the call");

  await expect.poll(() => assign(false)).toBe(far.instanceId);
  expect(await assign(true)).toBe(desk.instanceId);
  gate.open();
  await delivery;
  desk.die();
  await expect.poll(() => assign(true)).toBe(far.instanceId);
});

test("a runtime whose function does not need its caller's token does not get it, at no replica", async () => {
  const caller = { subject: "ada", issuer: "https://id.example", claims: {} };
  for (const at of [0, 1]) {
    cluster = await startCluster(["x", "y"]);
    const { desk, deliver } = await cluster.place({}, at);

    await deliver({}, { caller, callerToken: "token-of-ada" });

    expect(JSON.stringify(desk.service.invoked)).not.toContain("token-of-ada");
    expect(cluster.hub.carried.join()).not.toContain("token-of-ada");
    if (at === 0) await cluster[Symbol.asyncDispose]();
  }
});
