import type { CallFlow, FunctionManifest } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { flowDecision } from "../../src/flow/decide.ts";

const PAY: FunctionManifest = {
  name: "pay_bill",
  description: "Pays.",
  inputSchema: { type: "object", properties: { account: {} } },
  roles: "everyone",
  conditional: false,
  effect: "destructive",
  idempotent: false,
  timeoutMs: 1_000,
  flow: { mode: "ask", by: ["admin"], targets: { account: "caller" } },
};
const withMode = (mode: "report" | "ask" | "deny", by: string[]): FunctionManifest => ({
  ...PAY,
  flow: { ...PAY.flow, mode, by },
});
const said = (words: string, more: Partial<CallFlow> = {}): CallFlow => ({
  words: [words],
  results: [],
  tainted: false,
  secret: false,
  asks: false,
  ...more,
});
const decide = (one: FunctionManifest, flow: CallFlow | undefined, context = {}) =>
  flowDecision(one, { account: "acc-1" }, { context, flow });

test("a control plane that says nothing about the run gives no call a target", () => {
  expect(decide(PAY, undefined)).toMatchObject({ asks: true, fault: { rule: "target", member: "account" } });
});

test("the caller's words, the context and a direct call give one", () => {
  expect(decide(PAY, said("Pay acc-1."))).toBeUndefined();
  expect(decide(PAY, said("Pay."), { own: { account: "ACC-1" } })).toBeUndefined();
  expect(decide(PAY, said("", { direct: true }))).toBeUndefined();
  expect(decide(PAY, said("Pay acc-12."))).toMatchObject({ fault: { rule: "target" } });
});

test("a call that the rules do not allow is asked of people, or refused where the service denies or names none", () => {
  expect(decide(withMode("ask", ["admin"]), said("Pay."))).toMatchObject({ asks: true });
  expect(decide(withMode("ask", []), said("Pay."))).toMatchObject({ asks: false });
  expect(decide(withMode("deny", ["admin"]), said("Pay."))).toMatchObject({ asks: false });
  expect(decide(withMode("report", ["admin"]), said("Pay."))).toBeUndefined();
  const approval = { by: ["manager"], conditional: true, fourEyes: true, expiresInMs: 60_000 };
  expect(decide({ ...withMode("ask", []), approval }, said("Pay."))).toMatchObject({ asks: true });
});

test("a call that the control plane asks about needs a person, although this end sees no fault", () => {
  const decision = decide(PAY, said("Pay acc-1.", { asks: true }));

  expect(decision).toMatchObject({ asks: true, reason: expect.stringContaining("without a person") });
  expect(decision).not.toHaveProperty("fault");
  expect(decide(withMode("report", ["admin"]), said("Pay acc-1.", { asks: true }))).toMatchObject({ asks: true });
});

test("a function with an approval of its own asks the people whom that names", () => {
  const approval = { by: ["clerk"], conditional: true, fourEyes: false, expiresInMs: 1_000 };

  expect(decide({ ...withMode("ask", []), approval }, said("Pay."))).toMatchObject({ asks: true });
  expect(decide({ ...withMode("deny", []), approval }, said("Pay."))).toMatchObject({ asks: false });
});
