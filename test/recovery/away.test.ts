import { startControlPlane } from "@patchbay/control-plane/admin";
import type { ControlPlaneOptions } from "@patchbay/control-plane";
import { connect, silentLog } from "@patchbay/functions";
import { expect, test } from "vitest";
import { sqlitePlace } from "../../packages/store/test/sqlite-place.ts";
import { fakeService } from "@patchbay/test-support/fake-service";
import { client } from "@patchbay/test-support/system";

const HOUR = 3_600_000;

/** A service that stopped with a connected runtime `agoMs` ago, by the times in its database; `start` starts it again. */
async function stoppedService(agoMs: number) {
  await using opening = new AsyncDisposableStack();
  const place = opening.use(await sqlitePlace());
  const start = (more: Partial<ControlPlaneOptions> = {}) =>
    startControlPlane({
      database: place.url,
      port: 0,
      local: true,
      providers: { offline: true },
      log: silentLog,
      ...more,
    });
  const first = await start();
  const { orgId } = await first.admin.createOrg("Test", "sandbox");
  const { agentId, apiKey } = await first.admin.createAgent("Desk", { orgId });
  const { runtimeKey: key } = await first.admin.createRuntimeKey({ agentId });
  const { accessToken } = await first.admin.createToken({ agentId });
  const join = ({ url }: { url: string }) => connect(fakeService(), { url, agentId, key, log: silentLog });
  const runtime = join(first);
  await runtime.ready;
  await first.close({ graceMs: 0 });
  await runtime.stop({ drainMs: 0 });
  await place.execute(`update runtimes set last_seen_at = last_seen_at - ${agoMs}`);
  await place.execute(`update function_sets set first_seen_at = first_seen_at - ${agoMs}`);
  await place.execute(`update served set last_at = last_at - ${agoMs}`);
  const held = opening.move();
  return {
    place,
    join,
    /** A started control plane with a client. */
    async start(more?: Partial<ControlPlaneOptions>) {
      const plane = held.adopt(await start(more), (open) => open.close({ graceMs: 0 }));
      return { plane, ...client(plane, { agentId, apiKey, accessToken }), agentId };
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

test("after two hours away, queries on every endpoint wait for the runtime, which returns", async () => {
  await using service = await stoppedService(2 * HOUR);
  const { plane, query, stream, local } = await service.start({ arrivalMs: 1 });
  const answers = Promise.all([query("hi"), stream("hi"), local("hi")]);

  const runtime = service.join(plane);
  const [answer, streamed, locally] = await answers;

  expect(answer).toMatchObject({ success: true });
  expect(streamed.events.at(-1)?.data).toMatchObject({ type: "finalResponse" });
  expect(locally.events.at(-1)?.data).toMatchObject({ type: "final_response" });
  await runtime.stop({ drainMs: 0 });
});

test("a query says since when no runtime is connected, with status 200", async () => {
  await using service = await stoppedService(48 * HOUR);
  // The control plane served on: only the runtime was away.
  await service.place.execute(`update served set last_at = last_at + ${48 * HOUR}`);
  const [row] = await service.place.rows("select last_seen_at as at from runtimes");
  const since = new Date(row!["at"] as number).toISOString();
  const { query, stream } = await service.start();
  const warnings = [`No runtime of this agent has been connected since ${since}.`];

  const failed = { errorMessage: "Agent session not found", code: "agent_session_not_found", warnings };
  expect(await query("hi")).toMatchObject({ success: false, ...failed });
  expect((await stream("hi")).events.at(-1)?.data).toMatchObject({ type: "error", ...failed });
});

test("a query whose deadline is shorter than the wait for its runtime ends in time", async () => {
  await using service = await stoppedService(2 * HOUR);
  const { query } = await service.start({ arrivalMs: 3_600_000, runTimeoutMs: 50 });

  expect(await query("hi")).toMatchObject({ success: false, code: "agent_session_not_found" });
});
