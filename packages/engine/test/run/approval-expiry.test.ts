import { sleep } from "@patchbay/kit/time";
import { inVirtualTime } from "@patchbay/test-support/virtual-time";
import { expect, test } from "vitest";
import { desk } from "./approval-desk.ts";

/** When an approval expires whose function sets no other time in these tests. */
const EXPIRES_MS = 60_000;

test("a run continues without its call at the first poll at which its approval has expired", async () => {
  await inVirtualTime(async (time) => {
    await using core = await desk();
    const run = await core.begin();
    await core.result(run);
    const requestedAt = time.now;

    const options = { signal: new AbortController().signal, waitMs: 2 * EXPIRES_MS };
    const ended = await core.runs.result(run, options);

    expect(ended).toMatchObject({ success: true, toolInteractions: [{ success: false, code: "approval_expired" }] });
    expect(core.runtime.orders).toHaveLength(1);
    expect([requestedAt, time.now]).toEqual([0, EXPIRES_MS]);
  });
});

test.each([
  { atMs: EXPIRES_MS - 1, orders: 2, interaction: { success: true, result: "refund done" } },
  { atMs: EXPIRES_MS, orders: 1, interaction: { success: false, code: "approval_expired" } },
])("a decision $atMs ms after the request counts only before the expiry", async ({ atMs, orders, interaction }) => {
  await inVirtualTime(async () => {
    await using core = await desk();
    const run = await core.begin();
    await core.result(run);
    const [pending] = await core.pending();
    await sleep(atMs);

    const deciding = core.approvals.decide(core.principal, pending!.approvalId, { as: "manager", approved: true });
    if (orders === 1) await expect(deciding).rejects.toMatchObject({ code: "conflict" });
    else await deciding;

    const options = { signal: new AbortController().signal, waitMs: 10_000 };
    expect(await core.runs.result(run, options)).toMatchObject({ toolInteractions: [interaction] });
    expect(core.runtime.orders).toHaveLength(orders);
  });
});
