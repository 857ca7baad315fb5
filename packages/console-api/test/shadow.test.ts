import type { ShadowComparison } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { openDesk } from "./support/console-desk.ts";

type Answer = { shadow: ShadowComparison | null };

test("members read how the last candidate decides, what it allows first", async () => {
  await using desk = await openDesk();
  const viewer = await desk.member("viewer");
  const path = `${desk.agent}/access/shadow`;
  expect(await viewer.json<Answer>("GET", path)).toEqual({ shadow: null });

  const { shadows } = desk.plane.store;
  const { orgId, agentId } = desk;
  const candidate = { orgId, agentId, connectionId: "link_1", service: "shop", manifestHash: "a".repeat(64) };
  await shadows.begin(candidate, 60_000);
  const of = { functionName: "wipe_data", role: "guest" };
  const more = { ...of, was: "denied (roles)", is: "approval" };
  const less = { ...of, role: undefined, was: "allowed", is: "denied (authorize)" };
  const differences = [
    { ...less, runId: "run_1" },
    { ...less, runId: "run_2" },
    { ...more, runId: "run_3" },
  ];
  await shadows.record(candidate, { position: { at: 1, id: "c1" }, judged: 9, unanswered: 1, differences });

  const { shadow } = await viewer.json<Answer>("GET", path);
  expect(shadow).toMatchObject({
    service: "shop",
    manifestHash: "a".repeat(64),
    connected: true,
    judged: 9,
    dropped: 0,
    unanswered: 1,
    changes: [
      { kind: "allow", ...more, calls: 1, runIds: ["run_3"] },
      { kind: "deny", ...less, role: null, calls: 2, runIds: ["run_2", "run_1"] },
    ],
  });
  await shadows.end(candidate);
  expect((await viewer.json<Answer>("GET", path)).shadow).toMatchObject({ connected: false, judged: 9 });
});
