import type { CallOutcome } from "@patchbay/protocol";
import { expect, test } from "vitest";
import { z } from "zod";
import { argumentsHash } from "@patchbay/protocol/arguments-hash";
import { defineFunction, defineService, type Invocation, type Service } from "@patchbay/runtime";
import { runEscalationSuite } from "../src/suite.ts";

const base = { description: "x", input: z.object({ amount: z.number() }), handler: () => "done" };

function service(): Service {
  return defineService({
    name: "desk",
    roles: ["support", "manager"],
    functions: [
      defineFunction({
        ...base,
        name: "refund",
        roles: ["support", "manager"],
        approval: { by: ["manager"], when: ({ input }) => input.amount > 100, edit: ["amount"] },
        cases: { small: { input: { amount: 50 } }, large: { input: { amount: 300 } } },
      }),
      defineFunction({ ...base, name: "erase", roles: ["support"], approval: { by: ["caller"] } }),
      defineFunction({ ...base, name: "open", roles: "everyone", approval: { by: ["caller"] } }),
    ],
  });
}

type Invoke = (service: Service, call: Invocation, options: Parameters<Service["invoke"]>[1]) => Promise<CallOutcome>;

const suite = (invoke: Invoke) =>
  runEscalationSuite(service(), {
    serve: (served) => ({ ...served, invoke: (call, options) => invoke(served, call, options) }),
  });

test("a service with approvals has no findings, and every attack on them is tried", async () => {
  const report = await suite((served, call, options) => served.invoke(call, options));

  expect(report.findings).toEqual([]);
  for (const attack of ["forged approvals", "decisions of others", "decisions in chats"])
    expect(report.results.find((one) => one.attack === attack && one.role === "support")?.attempts).toBeGreaterThan(3);
  expect(report.notes).toEqual([
    "open: only the caller confirms it, and a query without a role has no caller that could.",
  ]);
});

test("a gate that never asks is found", async () => {
  const { findings } = await suite(async (served, call, options) => {
    const outcome = await served.invoke(call, options);
    return outcome.ok || outcome.code !== "approval_required" ? outcome : served.invoke(granted(call), options);
  });

  expect(findings).toContainEqual(
    expect.objectContaining({ kind: "ran", detail: "refund ran without the approval of a person" }),
  );
});

/** A delivery with a decision that is valid for the call. */
function granted(call: Invocation): Invocation {
  const approval = {
    approvalId: `apr_${call.callId.slice(call.callId.indexOf("_") + 1)}`,
    argumentsHash: argumentsHash(call.arguments),
    decidedAs: "manager",
    decidedBy: "key_made_up",
    requestedBy: "key_sender",
    decidedAt: "",
  };
  return {
    ...call,
    attempt: 2,
    approval: { ...approval, decidedAs: call.functionName === "refund" ? "manager" : call.role! },
  };
}

test.each([
  ["decidedAs", "of a role that may not decide", () => ({ decidedAs: "manager" })],
  ["the hash", "with a false hash", (call: Invocation) => ({ argumentsHash: argumentsHash(call.arguments) })],
  ["four eyes", "of the sender of the query", () => ({ decidedBy: "key_made_up" })],
  ["the edited members", "that edits what may not be edited", () => ({ edited: undefined })],
])("a gate that does not check %s is found", async (_, lie, correct) => {
  const { findings } = await suite((served, call, options) => {
    const { approval, ...rest } = call;
    if (!approval || call.functionName !== "refund") return served.invoke(call, options);
    const { edited: _edited, ...corrected } = { ...approval, ...correct(call) };
    return served.invoke({ ...rest, approval: corrected }, options);
  });

  expect(findings).toContainEqual({
    role: "support",
    attack: "forged approvals",
    kind: "ran",
    detail: `refund ran with an approval ${lie}`,
  });
});
