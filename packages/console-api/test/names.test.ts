import { defineFunction, defineService, everyone } from "@patchbay/functions";
import type { AuditItem, Runtime, RunTrace } from "@patchbay/protocol/console";
import { hostname } from "node:os";
import { expect, test } from "vitest";
import { z } from "zod";
import { openDesk } from "./support/console-desk.ts";

test("runs and audit entries have the label of their key or the name of their member", async () => {
  await using desk = await openDesk();
  const { orgId, agentId } = desk;
  const developer = await desk.member("developer");
  const key = await desk.admin.credentials.create("api", { agentId, label: "Web shop" });
  const asked = await fetch(`${desk.url}/agents/${agentId}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key.secret },
    body: JSON.stringify({ query: "Show order 3", role: "customer" }),
  });
  const { runId } = (await asked.json()) as { runId: string };
  const tried = await developer.json<{ runId: string }>("POST", `${desk.agent}/functions/show_order/test-calls`, {
    body: { role: "customer", arguments: { id: 3 } },
  });
  const unlabelled = await desk.query("Show order 3");
  const senderOf = async (id: string) => (await developer.json<RunTrace>("GET", `${desk.agent}/runs/${id}`)).sender;
  const authorsOf = async (id: string) => {
    const { items } = await developer.json<{ items: AuditItem[] }>("GET", `/audit?runId=${id}&action=run.started`);
    return items.map(({ member, keyLabel }) => ({ member, keyLabel }));
  };

  expect(await senderOf(runId)).toBe("Web shop");
  expect(await authorsOf(runId)).toEqual([{ member: null, keyLabel: "Web shop" }]);
  expect(await senderOf(tried.runId)).toBe("developer");
  expect(await authorsOf(tried.runId)).toEqual([{ member: "developer", keyLabel: null }]);
  expect(await senderOf(unlabelled.runId)).toBeNull();
  expect(await desk.store.runs.get(agentId, runId)).toMatchObject({ orgId, keyId: key.credentialId });
});

test("a runtime has the name of its host, its service and its deployment", async () => {
  await using desk = await openDesk();
  const viewer = await desk.member("viewer");

  const { items } = await viewer.json<{ items: Runtime[] }>("GET", `${desk.agent}/runtimes`);

  expect(items).toMatchObject([{ host: hostname(), service: "desk", deployment: null }]);
});

test("a call of a run has the host and the deployment of its runtime", async () => {
  await using desk = await openDesk();
  const developer = await desk.member("developer");
  const openTill = defineFunction({
    name: "open_till",
    description: "Opens the till.",
    input: z.object({}),
    roles: everyone,
    handler: () => "open",
  });
  const till = defineService({ name: "till", defaultRole: "customer", functions: [openTill] });
  await desk.connect(till, { deployment: "2026-11-22" });
  const { runId } = await developer.json<{ runId: string }>("POST", `${desk.agent}/functions/open_till/test-calls`, {
    body: { role: "customer", arguments: {} },
  });

  const { spans } = await developer.json<RunTrace>("GET", `${desk.agent}/runs/${runId}`);

  const call = spans.find(({ kind }) => kind === "call");
  expect(call?.attributes).toEqual({ runtime: expect.any(String), runtimeName: `${hostname()} · 2026-11-22` });
});
