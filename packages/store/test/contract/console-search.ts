import type { ConsoleRole } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { asking } from "./asking-runs.ts";
import { type MakePlace, openWorld, sampleRequest, sampleLink } from "./world.ts";

export function consoleSearchContract(place: MakePlace): void {
  test("everything of an organisation is found by its id or name, and nothing by another organisation", async () => {
    await using world = await openWorld(place);
    const { store, orgId, agentId } = world;
    const request = sampleRequest({ query: "Where is the albatross?" });
    const run = await world.start({
      runId: "run_own",
      threadId: "thr_own",
      newThread: true,
      sessionId: "visit-3",
      requestId: "late.albatross",
      request,
    });
    await world.finish(run, {}, "It has landed.");
    await store.index.record();
    await store.accounts.createCredential({
      credentialId: "key_7",
      kind: "api",
      agentId,
      hash: "h",
      hint: "pb_1…x",
      label: "Website_1",
    });
    await store.members.create({
      memberId: "mem_1",
      orgId,
      email: "ann@example.com",
      name: "Ann",
      role: "viewer",
      passwordHash: null,
    });
    const manifest = {
      name: "desk",
      preparesContext: false,
      functions: [
        {
          name: "get_order",
          description: "",
          inputSchema: {},
          roles: "everyone" as const,
          conditional: false,
          effect: "read" as const,
          idempotent: false,
          timeoutMs: 1,
        },
      ],
    };
    await store.runtimes.saveManifest(agentId, "set_1", manifest);
    await store.runtimes.noteSet(
      agentId,
      { service: "desk", deployment: "v1", named: true, manifestHash: "set_1" },
      manifest,
      { keyId: "key_7" },
    );
    await store.runtimes.connectionOpened({
      ...sampleLink({ agentId, instanceId: "rt_7", manifestHash: "set_1", deployment: "green" }),
      host: "Till-2",
    });
    await asking(world, ["7"], {}, "key_1", { runId: "run_asking", threadId: "thr_asking", newThread: true });
    const tokens = { orgId, hash: "t", hint: "service_admin_…y", scopes: ["agents:read" as const], label: "Terraform" };
    await store.serviceTokens.create({ tokenId: "tok_7", ...tokens });
    const view = { orgId, agentId, memberId: "mem_1", search: { status: "failed", sort: "-costUsd" } };
    await store.views.add({ ...view, viewId: "view_own", name: "My failures", shared: false });
    await store.views.add({ ...view, viewId: "view_shared", name: "Shared failures", shared: true });
    const found = async (q: string, by: { orgId?: string; memberId?: string; role?: ConsoleRole } = {}) => {
      const all = await world.console.search.find({ orgId, memberId: "mem_1", role: "owner", ...by }, q);
      return all.found.map(({ kind, id }) => `${kind} ${id}`);
    };

    const expected: Record<string, string[]> = {
      run_own: ["run run_own"],
      "late.albatross": ["run run_own"],
      albatross: ["thread thr_own", "run run_own"],
      landed: ["run run_own"],
      thr_own: ["thread thr_own"],
      hr_OW: ["thread thr_own"],
      "the albat": ["thread thr_own", "run run_own"],
      "visit-3": ["session visit-3"],
      VISIT: ["session visit-3"],
      key_7: ["key key_7"],
      website_: ["key key_7"],
      mem_1: ["member mem_1"],
      "ANN@": ["member mem_1"],
      get_ord: ["function get_order"],
      [agentId]: [`agent ${agentId}`],
      cler: [`agent ${agentId}`],
      rt_7: ["runtime rt_7"],
      t_7: ["runtime rt_7"],
      "till-": ["runtime rt_7"],
      gree: ["runtime rt_7"],
      "_1…": ["key key_7"],
      call_7: ["call call_7"],
      all_7: [],
      apr_7: ["approval apr_7"],
      REFUN: ["approval apr_7"],
      tok_7: ["serviceToken tok_7"],
      terraf: ["serviceToken tok_7"],
      view_own: ["view view_own"],
      "my fail": ["view view_own"],
      "no such": [],
      "%": [],
      "'\u0000": [],
    };
    for (const [q, ids] of Object.entries(expected)) {
      expect(await found(q), q).toEqual(ids);
      expect(await found(q, { orgId: "org_2" }), q).toEqual([]);
    }
    expect(await found("failures", { memberId: "mem_1" })).toHaveLength(2);
    expect(await found("failures", { memberId: "mem_2" })).toEqual(["view view_shared"]);
    expect(await found("view_own", { memberId: "mem_2" })).toEqual([]);
    for (const role of ["viewer", "developer"] as const) expect(await found("terraf", { role })).toEqual([]);
    expect(await world.console.search.find({ orgId, memberId: "mem_1", role: "viewer" }, "my fail")).toMatchObject({
      found: [{ agentId, search: view.search }],
    });
  });
}
