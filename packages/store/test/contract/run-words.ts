import { expect, test } from "vitest";
import type { NewRun } from "@patchbay/engine/ports/store/run-store";
import { DENIED, found, run } from "./run-facts.ts";
import { type MakePlace, openWorld, sampleCall, sampleRequest, sampleTurn } from "./world.ts";

export function runWordContract(place: MakePlace): void {
  test("runs are found by words of query, answer and errors, in any case and without accents", async () => {
    await using world = await openWorld(place);
    await run(world, "a", { query: 'Où est "100%" Übung_7?', response: "The **Water Bottle** is late.\u0000" });
    await run(world, "b", { query: "Refund it", error: { code: "deadline_exceeded", message: "The model gave up." } });
    await run(world, "c", { query: "注文はどこ", outcome: DENIED });
    await world.store.index.record();

    for (const q of ["water", "BOTT", "ubung", "Übung_7", "ou 10", "late où", "\u0000water"])
      expect(await found(world, { q }), q).toEqual(["run_a"]);
    for (const q of ["refund", "gave up", "deadline exc"]) expect(await found(world, { q }), q).toEqual(["run_b"]);
    for (const q of ["文は", "forbidden clerks for", "forbidden clerk"])
      expect(await found(world, { q }), q).toEqual(["run_c"]);
    for (const q of ["ottle", "wat bottle", "water refund", "?!", "argumentative", "use_c", "' | 'x", '"late" OR'])
      expect(await found(world, { q }), q).toEqual([]);
    expect(await found(world, { q: "late", status: "failed" })).toEqual([]);
  });

  test("an open run is found by the words of its query", async () => {
    await using world = await openWorld(place);
    await world.start({ runId: "run_open", request: sampleRequest({ query: "Where is my parcel?" }) });

    expect(await found(world, { q: "parc" })).toEqual(["run_open"]);
    expect(await found(world, { q: "elsewhere" })).toEqual([]);
  });

  test("what the owner's code threw is not found, and neither are results", async () => {
    await using world = await openWorld(place);
    const { store } = world;
    const started = await world.start({ runId: "run_a" });
    await store.runs.commit(started, {
      turn: sampleTurn(0),
      calls: [sampleCall("c1"), sampleCall("c2", { position: 1, outcome: { ok: true, value: "margin" } })],
    });
    await store.calls.recordError(
      { agentId: world.agentId, instanceId: "rt_1", callId: "c1" },
      { name: "TypeError", message: "unguessable", stack: "" },
    );
    await world.finish(started);
    await store.index.record();

    for (const q of ["unguessable", "TypeError", "margin"]) expect(await found(world, { q }), q).toEqual([]);
    expect(await found(world, { q: "late orders" })).toEqual(["run_a"]);
  });

  test("runs are found by the id of their request while they are open, after their end, and once they are indexed", async () => {
    await using world = await openWorld(place);
    const first = await world.start({ requestId: "req_7" });
    world.clock.advance(1);
    const second = await world.start({ requestId: "req_7" });
    await world.start({ requestId: "req_8" });
    const found = async (options: { agentId?: string; limit?: number } = {}) =>
      (await world.store.runs.ofRequest("req_7", { limit: 10, ...options })).map(({ runId }) => runId);

    expect(await found()).toEqual([second.runId, first.runId]);
    await world.finish(first);
    expect(await found()).toEqual([second.runId, first.runId]);
    await world.store.index.record();
    expect(await found({ agentId: world.agentId })).toEqual([second.runId, first.runId]);
    expect(await found({ limit: 1 })).toEqual([second.runId]);
    expect(await found({ agentId: "agt_2" })).toEqual([]);
  });

  test("of one request id, the newest 1,000 ended runs of an organisation are found, whatever others send", async () => {
    await using world = await openWorld(place);
    const { accounts, runs, index } = world.store;
    await accounts.createOrg({ orgId: "org_2", name: "Other", tier: "starter" });
    await accounts.createAgent({ agentId: "agt_2", orgId: "org_2", name: "Other", instructions: "" });
    const endAll = async (count: number, change: Partial<NewRun>) => {
      const started = await Promise.all(
        Array.from({ length: count }, () => world.start({ requestId: "req_7", ...change })),
      );
      await Promise.all(started.map((one) => world.finish(one)));
      await index.record();
      // Later than runs that are found before they are indexed.
      world.clock.advance(60_000);
      return started.map(({ runId }) => runId);
    };
    const [own = ""] = await endAll(1, {});
    const [oldest = ""] = await endAll(1, { orgId: "org_2", agentId: "agt_2" });
    const newer = await endAll(1_000, { orgId: "org_2", agentId: "agt_2" });

    const ofAgent = async (agentId: string) => await runs.ofRequest("req_7", { agentId, limit: 5_000 });
    expect(await ofAgent("agt_1")).toMatchObject([{ runId: own }]);
    expect(
      await world.console.search.find({ orgId: "org_1", memberId: "mem_1", role: "viewer" }, "req_7"),
    ).toMatchObject({ found: [{ kind: "run", id: own }] });
    const ofOther = (await ofAgent("agt_2")).map(({ runId }) => runId);
    expect(ofOther).not.toContain(oldest);
    expect(ofOther.toSorted()).toEqual(newer.toSorted());
  });
}
