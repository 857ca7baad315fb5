import { silentLog } from "@patchbay/kit";
import { sleep } from "@patchbay/kit/time";
import { openStore } from "@patchbay/store/open";
import { inVirtualTime } from "@patchbay/test-support/virtual-time";
import { expect, test, vi } from "vitest";
import { systemClock } from "../../../control-plane/src/start/clocks.ts";
import { createNetworks } from "../../src/webhooks/networks.ts";
import { pauseAfter, startSender } from "../../src/webhooks/sender.ts";

test.each([
  [1, 5_000],
  [2, 15_000],
  [3, 45_000],
  [5, 405_000],
  [8, 10_935_000],
  [9, 14_400_000],
  [12, 14_400_000],
])("the pause after attempt %i is random, from half of %i ms to all", (round, longest) => {
  using _ = vi.spyOn(Math, "random").mockReturnValueOnce(0).mockReturnValueOnce(0.5).mockReturnValueOnce(1);
  expect([0, 1, 2].map(() => pauseAfter(round))).toEqual([longest / 2, 0.75 * longest, longest]);
});

test("a delivery is repeated at the first poll after each pause", async () => {
  const attempts = await inVirtualTime(async (time) => {
    time.world.random.fraction = () => 0;
    const store = await openStore("sqlite::memory:", { clock: systemClock });
    const agent = { agentId: "agt_1", orgId: "org_1" };
    await store.accounts.createOrg({ orgId: "org_1", name: "Desk", tier: "sandbox" });
    await store.accounts.createAgent({ ...agent, name: "Desk", instructions: "" });
    await store.webhooks.set({ ...agent, url: "https://receiver.example/", secret: "secret" });
    await store.webhooks.add(agent, {
      type: "run.ended",
      data: { runId: "run_1", threadId: "thr_1", status: "failed" },
    });
    const sent: number[] = [];
    const sender = startSender({
      webhooks: store.webhooks,
      networks: createNetworks([]),
      baseUrl: "https://patchbay.example",
      clock: systemClock,
      log: silentLog,
      metrics: { webhookAttempted: () => {} },
      async send() {
        sent.push(time.now);
        return 500;
      },
    });
    await sleep(400_000);
    await sender[Symbol.asyncDispose]();
    await store.close();
    return sent;
  });

  // Pauses of 2.5, 7.5, 22.5, 67.5 and 202.5 s, and a poll each second.
  expect(attempts).toEqual([0, 3_000, 11_000, 34_000, 102_000, 305_000]);
});
