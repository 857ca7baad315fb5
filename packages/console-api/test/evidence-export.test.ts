import { createHash } from "node:crypto";
import type { ServiceScope } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { manifestOf } from "../../engine/test/run/fake-gateway.ts";
import { sampleRun } from "../../store/test/contract/world.ts";
import { failureOf, openConsole } from "./support/open-console.ts";

const functions = [{ name: "get_order", roles: ["clerk"] }];
const asked = { functions, since: "2d" };

async function openDesk() {
  const console = await openConsole();
  const { admin, store, orgId } = console;
  const { agentId } = await admin.createAgent("Desk", { orgId });
  const program = console.browser();
  for (const runId of ["run_1", "run_2", "run_3"]) {
    const audit = [{ action: "run.started", agentId, runId }];
    await store.runs.start(sampleRun({ orgId, agentId, runId, threadId: `thr_${runId}`, newThread: true, audit }));
  }
  return {
    ...console,
    agentId,
    async ask(scopes: ServiceScope[], body: object) {
      const { secret } = await admin.serviceTokens.create({ orgId, scopes });
      const headers = { Authorization: `Bearer ${secret}` };
      return program.ask("POST", `/api/agents/${agentId}/access/evidence`, { headers, body });
    },
  };
}

const partsOf = async (response: Response): Promise<{ file: string; content: Record<string, unknown> }[]> =>
  (await response.text())
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as { file: string; content: Record<string, unknown> });

test("the evidence over HTTP is that from the database, and begins with the rights", async () => {
  await using desk = await openDesk();
  const found = await partsOf(await desk.ask(["audit:read"], asked));
  const manifest = { functions } as never;
  const direct: string[] = [];
  for await (const { file } of desk.admin.evidence(desk.agentId, { manifest, since: "2d" })) direct.push(file);

  expect(found.map(({ file }) => file)).toEqual(direct);
  expect(found[0]).toMatchObject({
    file: "use.json",
    content: {
      rights: [{ functionName: "get_order", role: "clerk" }],
    },
  });
  expect(found.map(({ file }) => file)).toContain("audit-check.json");
});

test("periods and oversight count what the log has", async () => {
  await using desk = await openDesk();
  const { clock, orgId, agentId, store } = desk;
  const record = async (action: string, callId: string, detail = {}) => {
    await store.audit.record([{ orgId, agentId, action: `approval.${action}`, callId, detail }]);
  };
  for (const callId of ["c1", "c2", "c3", "c4"]) await record("requested", callId);
  clock.advance(4_000);
  await record("approved", "c1");
  clock.advance(60_000);
  await record("approved", "c2", { edited: ["amount"] });
  await record("rejected", "c3");
  await record("expired", "c4");
  const [ofShop, ofMail] = [
    { service: "shop", manifestHash: "set_2" },
    { service: "mail", manifestHash: "set_3" },
  ];
  const manifest = { ...manifestOf({ pay: ["clerk"] }), name: "shop" };
  const [pay] = manifest.functions;
  const both = [
    { ...pay!, origin: ofShop },
    { ...pay!, name: "send", origin: ofMail },
  ];
  await store.runtimes.saveManifest(agentId, "set_both", { ...manifest, name: "mail, shop", functions: both });
  const connect = (functions: string) =>
    store.runtimes.saveManifest(agentId, "set_2", manifest, { lock: { functions } });
  const start = (runId: string, manifestHash = "set_2") =>
    store.audit.record([{ orgId, agentId, action: "run.started", runId, manifestHash }]);
  for (const [functions, runId] of [
    ["a", "run_4"],
    ["a", "run_5"],
    ["b", "run_6"],
  ] as const) {
    await connect(functions);
    clock.advance(1);
    await start(runId);
    clock.advance(1);
  }
  await start("run_7", "set_both");

  const parts = await partsOf(await desk.ask(["audit:read"], asked));
  const lockOf = (functions: string) => createHash("sha256").update(JSON.stringify({ functions })).digest("hex");
  const contentOf = (name: string) => parts.find(({ file }) => file === name)?.content;

  expect(contentOf("oversight.json")).toEqual({
    requested: 4,
    approved: 2,
    rejected: 1,
    edited: 1,
    expired: 1,
    cancelled: 0,
    medianDecisionMs: 64_000,
    grantedWithinFiveSeconds: 1,
  });
  expect(contentOf("periods.json")).toMatchObject([
    { manifestHash: null, lock: null, runs: 3 },
    { manifestHash: "set_2", lock: lockOf("a"), runs: 2 },
    { manifestHash: "set_2", lock: lockOf("b"), services: [{ ...ofShop, lock: lockOf("b") }], runs: 1 },
    {
      manifestHash: "set_both",
      services: [
        { ...ofShop, lock: lockOf("b") },
        { ...ofMail, lock: null },
      ],
      runs: 1,
    },
  ]);
});

test("a sample needs the scope for contents, is chosen by its seed, and names erased runs", async () => {
  await using desk = await openDesk();
  const scopes: ServiceScope[] = ["audit:read", "calls:read", "calls:content"];
  const ask = async (seed: number) => {
    const parts = await partsOf(await desk.ask(scopes, { ...asked, sample: 2, seed }));
    const [chosen, ...traces] = parts.filter(({ file }) => file.startsWith("sample"));
    return { chosen: chosen!.content, traces: traces.map(({ content }) => content) };
  };
  const first = await ask(7);
  const [erased = ""] = first.traces.map(({ runId }) => runId as string);
  await desk.store.threads.erase(desk.agentId, `thr_${erased}`);
  const again = await ask(7);

  expect(await failureOf(await desk.ask(["audit:read"], { ...asked, sample: 2 }))).toEqual([403, "scope_required"]);
  expect(first.chosen).toMatchObject({ seed: 7, population: 3 });
  expect(first.traces).toMatchObject([
    { manifestHash: null, services: [], run: { runId: erased }, audit: [{ action: "run.started" }] },
    { run: { items: [] } },
  ]);
  expect(again.chosen).toEqual(first.chosen);
  expect(again.traces[0]).toMatchObject({ runId: erased, run: null, audit: [{ action: "run.started" }] });
});
