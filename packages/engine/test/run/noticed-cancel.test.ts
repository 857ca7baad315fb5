import { sleep } from "@patchbay/kit/time";
import { inVirtualTime } from "@patchbay/test-support/virtual-time";
import { expect, test } from "vitest";
import { startScripted } from "./core.ts";

test.each([
  { cancelledMs: 0, endsMs: 5_000 },
  { cancelledMs: 4_999, endsMs: 5_000 },
  { cancelledMs: 5_001, endsMs: 10_000 },
  { cancelledMs: 14_999, endsMs: 15_000 },
])(
  "a cancellation after $cancelledMs ms without a notification is noticed at the renewal after $endsMs ms",
  async (row) => {
    await inVirtualTime(async (time) => {
      await using core = await startScripted([{ until: new Promise(() => {}) }]);
      const run = await core.start("hi");
      await sleep(row.cancelledMs);

      await core.store.runs.requestCancel(run.agentId, run.runId);

      expect(await core.result(run)).toMatchObject({ code: "cancelled", errorMessage: "Run cancelled" });
      expect(time.now).toBe(row.endsMs);
    });
  },
);
