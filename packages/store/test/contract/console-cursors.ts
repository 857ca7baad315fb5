import { expect, test } from "vitest";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import { toCursor } from "../../src/page-cursor.ts";
import { openWorld, type MakePlace } from "./world.ts";

/** Cursors as somebody makes them who has read one. */
const FORGED = [
  { at: 1.5, id: "" },
  { at: -0.5, id: "x" },
  { at: Number.MAX_SAFE_INTEGER + 1, id: "" },
  { at: -1e300, id: "" },
  { at: 2 ** 40, id: "run_1" },
  { at: -(2 ** 40), id: "run_1" },
  { at: Number.MAX_SAFE_INTEGER, id: "\0" },
  { at: 0, id: "é".repeat(500) },
].map(toCursor);

export function consoleCursorContract(place: MakePlace): void {
  test("a forged cursor is rejected or returns a page of the same list", async () => {
    await using world = await openWorld(place);
    const { runId, threadId } = await world.start();
    const { audit, threads } = world.store;
    const { console } = world;
    const [org, agent] = [world.orgId, world.agentId];
    const range = { from: 0, to: world.clock.now() + 1 };
    const lists: Record<string, (page: { limit: number; cursor: string }) => Promise<unknown>> = {
      members: (page) => world.store.members.list(org, page),
      agents: (page) => console.agents.list(org, page),
      credentials: (page) => console.credentials.list({ orgId: org, agentId: agent }, page),
      runtimes: (page) => console.runtimes.list({ orgId: org, agentId: agent }, page),
      functionSets: (page) => console.functions.sets({ orgId: org, agentId: agent }, page),
      runs: (page) => console.runs.list({ orgId: org, agentId: agent }, page),
      runsOfThread: (page) => console.runs.list({ orgId: org, agentId: agent }, { ...page, threadId }),
      log: (page) => console.runs.log({ orgId: org, agentId: agent }, runId, page),
      threads: (page) => console.threads.list({ orgId: org, agentId: agent }, page),
      sessions: (page) => console.sessions.list({ orgId: org, agentId: agent }, { ...page, ...range }),
      audit: (page) => console.audit.list(org, page),
      ledger: (page) => console.credits.ledger(org, page),
      threadsOfKeys: (page) => threads.list(agent, page),
      auditOfCommands: (page) => audit.list(page),
    };

    const failed: string[] = [];
    for (const [name, list] of Object.entries(lists))
      for (const cursor of FORGED)
        await list({ limit: 2, cursor }).catch((error: unknown) => {
          if (!(error instanceof ServiceError)) failed.push(`${name}: ${String(error)}`);
        });

    expect(failed).toEqual([]);
  });
}
