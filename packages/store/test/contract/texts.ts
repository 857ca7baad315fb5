import type { JsonValue } from "@patchbay/kit";
import { expect, test } from "vitest";
import { event, openWorld, sampleCall, sampleLink, sampleRequest, sampleTurn, type MakePlace } from "./world.ts";

/** A NUL, which Postgres cannot hold, and half of a character, which UTF-8 cannot. */
const ODD = "a\u0000b\ud800c";
/** The same in JSON, whose escapes can hold a NUL. */
const IN_JSON = "a\u0000b\ufffdc";
const ENDED_WELL = { status: "succeeded", result: undefined, releaseIdempotencyKey: false } as const;

/** The same in a column, on every database. */
const likeOdd = (prefix = ""): string => `${prefix}a\ufffdb\ufffdc`;

export function textContract(place: MakePlace): void {
  test("queries, answers and audit entries can contain any text", async () => {
    await using world = await openWorld(place);
    const { runs, calls, threads } = world.store;
    const value: JsonValue = { [ODD]: ODD };
    const stored = { [IN_JSON]: IN_JSON };
    const run = await world.start({
      threadId: `thr_${ODD}`,
      newThread: true,
      sessionId: ODD,
      subject: ODD,
      keyId: ODD,
      manifestHash: ODD,
      idempotency: { key: ODD, bodyHash: ODD },
      request: sampleRequest({ query: ODD, role: ODD, context: { [ODD]: ODD }, system: ODD, warnings: [ODD] }),
      audit: [{ action: ODD, functionName: ODD, rule: ODD, detail: { [ODD]: ODD } }],
      owner: ODD,
    });
    const call = { modelCallId: ODD, functionName: ODD, arguments: value, instanceId: ODD };
    await runs.commit(run, {
      events: [event(1, ODD)],
      turn: sampleTurn(0, { messages: [{ role: "assistant", text: ODD, calls: [] }], warnings: [ODD], model: ODD }),
      calls: [sampleCall(`c_${ODD}`, call)],
    });

    expect(await runs.get(world.agentId, run.runId)).toMatchObject({
      sessionId: likeOdd(),
      subject: likeOdd(),
      request: { query: IN_JSON, role: IN_JSON, context: stored },
    });
    expect(await runs.findByIdempotencyKey(run, ODD)).toMatchObject({ runId: run.runId });
    const order = { callId: `c_${ODD}`, attempt: 1, fence: 1, replicaId: ODD };
    expect(await calls.accept(order)).toMatchObject({
      functionName: likeOdd(),
      arguments: stored,
      instanceId: likeOdd(),
    });
    expect(await calls.withdraw(order)).toBe(false);
    const address = { agentId: world.agentId, callId: order.callId, instanceId: ODD, attempt: 1 };
    expect(await calls.arrive(address, { ok: true, value })).toMatchObject({ over: false });
    expect(await calls.arrivals([order.callId, ODD])).toEqual([
      { callId: likeOdd("c_"), outcome: { ok: true, value: stored } },
    ]);
    expect(await runs.renew(ODD, [run.runId, ODD], 1_000)).toMatchObject([{ runId: run.runId }]);
    expect(await runs.heads([run.runId, ODD])).toMatchObject([{ lastSeq: 1 }]);
    expect(await runs.events(run.runId, 0, 9)).toEqual([event(1, ODD)]);
    await runs.commit(run, { finish: { ...ENDED_WELL, history: [{ role: "user", text: ODD }] } });
    const scope = { role: ODD, subject: ODD, maxBytes: 10_000 };
    expect((await runs.history(`thr_${ODD}`, scope)).entries).toMatchObject([{ messages: [{ text: IN_JSON }] }]);
    expect(await threads.get(world.agentId, `thr_${ODD}`, { limit: 100, roles: [ODD] })).toMatchObject({
      title: IN_JSON,
    });
    expect((await world.store.audit.list({ runId: run.runId, action: ODD, limit: 9 })).items).toMatchObject([
      { action: likeOdd(), functionName: likeOdd(), detail: stored },
    ]);
    expect(await threads.erase(world.agentId, `thr_${ODD}`)).toBe(true);
  });

  test("accounts and manifests can contain any text", async () => {
    await using world = await openWorld(place);
    const { accounts, runtimes } = world.store;
    await accounts.createOrg({ orgId: `org_${ODD}`, name: ODD, tier: ODD });
    await accounts.createAgent({ agentId: ODD, orgId: `org_${ODD}`, name: ODD, instructions: ODD });
    const secret = { credentialId: ODD, hash: ODD, hint: ODD, roles: [ODD], label: ODD };
    await accounts.createCredential({ kind: "api", agentId: ODD, ...secret });
    await runtimes.saveManifest(ODD, ODD, { name: ODD, preparesContext: false, functions: [] });
    await runtimes.connectionOpened(
      sampleLink({ agentId: ODD, instanceId: ODD, connectionId: ODD, replicaId: ODD, manifestHash: ODD }),
    );
    await runtimes.renewConnections([ODD]);
    await runtimes.connectionDraining(ODD);

    expect(await accounts.getAgent(ODD)).toMatchObject({ name: likeOdd(), instructions: likeOdd() });
    expect(await accounts.updateAgent(ODD, { instructions: ODD })).toBeDefined();
    expect(await accounts.findCredential("api", ODD)).toMatchObject({ roles: [IN_JSON], label: likeOdd() });
    expect([...(await accounts.validCredentials([ODD]))]).toEqual([likeOdd()]);
    expect(await accounts.countQuery(`org_${ODD}`)).toMatchObject({ count: 1 });
    expect(await runtimes.getManifest(ODD, ODD)).toMatchObject({ name: IN_JSON });
    expect(await runtimes.connections(ODD)).toMatchObject([
      { instanceId: likeOdd(), replicaId: likeOdd(), draining: true },
    ]);
    await runtimes.connectionClosed(ODD);
    expect(await runtimes.connections(ODD)).toEqual([]);
  });
}
