import { describe, expect, test } from "vitest";
import { callerIdsOf } from "@patchbay/engine/ports/callers";
import { approvalStore } from "../src/calls/approvals.ts";
import { toCursor } from "../src/page-cursor.ts";
import { runPages } from "../src/runs/run-page.ts";
import { threadStore } from "../src/threads/threads.ts";
import { ENGINES } from "./planned.ts";

for (const [name, { open, unbounded }] of Object.entries(ENGINES))
  describe(name, () => {
    const bounded = (plans: string[]): string[] => plans.flatMap(unbounded);

    test("what a proven caller lists and opens is found by indexes", async () => {
      await using planned = await open();
      const { list, get, ofKey } = threadStore(planned.engine);
      const callers = callerIdsOf({ issuer: "https://id.example", subject: "ada" });
      const cursor = toCursor({ at: 5, id: "thr_5" });
      const page = { limit: 5, cursor, callers };

      const ofRuns = await planned.plansOf(() => runPages(planned.engine).page("agt_1", page));
      const all = await planned.plansOf(() => list("agt_1", page));
      const ofRoles = await planned.plansOf(() => list("agt_1", { ...page, roles: ["clerk", "guest"] }));

      expect(ofRuns.join()).toContain("runs_of_caller");
      expect(all.join()).toContain("threads_of_caller");
      expect(ofRoles.join()).toContain("thread_roles_of_caller");
      const others = [
        () => list("agt_1", { ...page, sessionId: "s" }),
        () => get("agt_1", "thr_1", { limit: 5, callers }),
        () => ofKey("agt_1", { scope: "a", formerScope: "b", id: "chat" }, { callers }),
        () =>
          approvalStore(planned.engine).list({
            agentId: "agt_1",
            limit: 5,
            visibleTo: { callers },
            orDecidedBy: { roles: ["manager"] },
          }),
      ];
      for (const other of others) expect(bounded(await planned.plansOf(other))).toEqual([]);
      expect(bounded([...ofRuns, ...all, ...ofRoles])).toEqual([]);
    });
  });
