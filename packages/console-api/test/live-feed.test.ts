import { silentLog } from "@patchbay/kit";
import { setImmediate } from "@patchbay/kit/time";
import { expect, test } from "vitest";
import { liveRoutes } from "../src/live/routes.ts";

test("the feed of a process that stops asks the store no more, also before its streams have ended", async () => {
  const closing = new AbortController();
  let asked = 0;
  const routes = liveRoutes({
    queries: { live: { versions: async () => ({ asked: ++asked }) } } as never,
    within: (_orgId, work) => work(),
    clock: {
      now: () => 0,
      async sleep(_ms: number, { signal }: { signal?: AbortSignal } = {}) {
        // Without this limit, a feed that continues would never let the test end.
        if (signal?.aborted && asked < 100) throw signal.reason;
        await new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
      },
    },
    log: silentLog,
    closing: closing.signal,
    store: {} as never,
    streams: { watch: () => ({ revoked: new AbortController().signal, [Symbol.dispose]() {} }) } as never,
  });
  const exchange = { c: { req: { header: () => undefined }, env: {} }, headers: {} };
  await routes["GET /live"]({ by: { orgId: "org", memberId: "mem" }, query: {}, exchange } as never);
  await new Promise((resolve) => setImmediate(() => resolve(undefined)));
  const before = asked;

  closing.abort();
  await new Promise((resolve) => setImmediate(() => resolve(undefined)));

  expect(before).toBe(1);
  expect(asked).toBe(1);
});
