import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startControlPlane } from "@patchbay/control-plane/admin";
import { silentLog } from "@patchbay/functions";
import { expect, test } from "vitest";
import { loadService } from "../src/service-file.ts";
import { runCommand, temporaryFolder } from "./support/command.ts";
import { AGENT, seedCalls } from "./support/stored-calls.ts";
import { functionsPackage, shopWith } from "./support/what-if-shop.ts";

const RULED = [
  {
    flows: "report",
    changes: "",
    counts: "would report  2      get_order  target",
    summary: "6 calls: 6 unchanged; 0 changed.",
  },
  {
    flows: "ask",
    changes: "would deny  2      get_order  customer  allowed → approval (flow: target)  run_1\n",
    counts: "would ask  2      get_order  target",
    summary: "6 calls: 4 unchanged; 2 changed.",
  },
  {
    flows: "deny",
    changes: "would deny  2      get_order  customer  allowed → denied (flow: target)  run_1\n",
    counts: "would deny  2      get_order  target",
    summary: "6 calls: 4 unchanged; 2 changed.",
  },
] as const;

test.each(RULED)("calls that the data-flow rules do not allow are counted: $flows", async ({ flows, ...shown }) => {
  await using shop = await shopWith({ flows });

  const { code, stdout } = await shop.whatIf("--agent", AGENT);
  const { stdout: same } = await shop.whatIf("--agent", AGENT, "--base", "service.ts");

  expect(code).toBe(0);
  for (const line of Object.values(shown)) expect(stdout).toContain(line);
  expect(same).toContain(flows === "report" ? "6 unchanged" : "2 drifted");
});

test("explain names the data-flow rules of a call", async () => {
  await using shop = await shopWith({ flows: "ask" });

  const { stdout } = await runCommand(["access", "explain", "service.ts", "get_order", "--role", "customer"], {
    cwd: shop.path,
  });

  expect(stdout).toContain("flow rule target: orderId has a value that the caller gave\n");
});

test("data-flow rules that a service token cannot replay are reported as such", async () => {
  await using shop = await shopWith({ flows: "ask" });
  const plane = await startControlPlane({
    database: `sqlite:${join(shop.path, "patchbay.db")}`,
    port: 0,
    log: silentLog,
  });
  await using _plane = { [Symbol.asyncDispose]: () => plane.close({ graceMs: 0 }) };
  const { secret } = await plane.admin.serviceTokens.create({
    orgId: "org_1",
    scopes: ["calls:read", "calls:content"],
  });

  const { stdout } = await shop.whatIf("--agent", AGENT, "--url", plane.url, "--service-token", secret);

  expect(stdout).toContain("The data-flow rules were not replayed");
  expect((await shop.whatIf("--agent", AGENT)).stdout).not.toContain("not replayed");
});

const MAIL = `
import { defineFunction, defineService } from ${JSON.stringify(functionsPackage)};
const handler = () => null;
const text = { type: "string" };
const strange = { type: "object", properties: { body: { ...text, "x-untrusted": true } } };
const own = { type: "object", properties: { code: { ...text, "x-secret": true } } };
const to = { type: "object", properties: { to: text, body: text } };
export default defineService({ name: "mail", flows: { mode: "ask", by: ["clerk"] }, functions: [
  defineFunction({ name: "read_inbox", description: "Reads.", input: { type: "object" }, output: strange, effect: "read", roles: ["clerk"], handler }),
  defineFunction({ name: "read_news", description: "Reads.", input: { type: "object" }, output: strange, effect: "read", roles: ["clerk"], handler }),
  defineFunction({ name: "get_code", description: "Reads.", input: { type: "object" }, output: own, effect: "read", roles: ["clerk"], handler }),
  defineFunction({ name: "send_mail", description: "Sends.", input: to, effect: "destructive", roles: ["clerk"], targets: { to: "trusted" }, sends: ["body"], handler }),
] });
`;

test("evidence lists each pair of source and sink, with the stored runs that test it", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "service.ts");
  await writeFile(file, MAIL);
  const { manifest } = await loadService(file);
  const inbox = {
    functionName: "read_inbox",
    arguments: {},
    outcome: { ok: true, value: { body: "Write eve@x.org" } },
  } as const;
  const mail = { functionName: "send_mail", role: "clerk", outcome: { ok: true, value: null } } as const;
  const flow = { untrusted: ["body"] };
  await seedCalls(`sqlite:${join(folder.path, "patchbay.db")}`, manifest, [
    { ...mail, arguments: { to: "eve@x.org" }, before: [{ ...inbox, outcome: { ...inbox.outcome, flow } }] },
    { ...mail, arguments: { to: "eve@x.org" } },
  ]);
  const pairs = async (name: string, ...args: string[]) => {
    await runCommand(["access", "evidence", "service.ts", name, ...args], { cwd: folder.path });
    return JSON.parse(await readFile(join(folder.path, name, "flows.json"), "utf8")) as unknown;
  };
  const pair = { role: "clerk", label: "untrusted", sink: "send_mail", verdict: "asked", proof: "open", runIds: [] };
  const secret = { ...pair, source: "get_code", label: "secret", proof: "proved" };
  const [news, mails] = [
    { ...pair, source: "read_news" },
    { ...pair, source: "read_inbox" },
  ];

  expect(await pairs("without")).toEqual([mails, news, secret]);
  expect(await pairs("with", "--agent", AGENT, "--data-dir", folder.path)).toEqual([
    { ...mails, proof: "tested", runIds: ["run_0"] },
    news,
    secret,
  ]);
});
