import type { CaseDecision } from "@patchbay/protocol";
import type { JsonObject } from "@patchbay/kit";
import { z } from "zod";
import type { JudgedCall, WhatIfReport } from "../../src/access/index.ts";
import { defineFunction, defineService, everyone, type Schema, type Service, visibleTo } from "../../src/index.ts";
import { call as invoke } from "../calls.ts";

/** A call as `authorize` of the shop sees it. */
export type Caller = { role?: string; input: { orderId: string; amount: number }; context: { customer?: string } };

/** A planted change of the shop. Each member replaces one place of it. */
export interface Planted {
  readers?: string[];
  refunders?: string[];
  wipers?: string[] | typeof everyone;
  hours?: string[] | typeof everyone;
  mayRead?: (caller: Caller) => boolean | string | Promise<boolean>;
  mayRefund?: (caller: Caller) => boolean;
  most?: number;
  asksAbove?: number;
  noteFor?: string[];
  bonusFor?: string[];
  output?: "open" | "absent" | "ssn" | "less";
  context?: true;
  without?: string;
  defaultRole?: string;
  approvers?: string[];
  fourEyes?: boolean;
}

/** The handlers that ran. */
export const ran: string[] = [];
const order = { id: "a1", note: "late", pay: { base: 1, bonus: 2 }, ssn: "7" };

export function shop(planted: Planted = {}): Service {
  const {
    readers = ["customer", "support"],
    refunders = ["support"],
    wipers = ["manager"],
    hours = everyone,
    mayRead = ({ role, input, context }) => role === "support" || input.orderId.startsWith(context.customer ?? "-"),
    mayRefund = ({ input }) => input.orderId !== "locked",
    most = 100,
    asksAbove = 50,
    noteFor = ["support"],
    bonusFor = ["manager"],
    output = "closed",
    without,
    defaultRole,
    approvers = ["manager"],
    fourEyes = true,
  } = planted;
  const of = (name: string, result: unknown = null) => ({
    name,
    description: name,
    handler: () => {
      ran.push(name);
      return result as never;
    },
  });
  const members = {
    id: z.string(),
    note: visibleTo(z.string(), noteFor).optional(),
    pay: z.object({ base: z.number(), bonus: visibleTo(z.number(), bonusFor) }),
  };
  const outputs = {
    closed: z.object(members),
    open: z.looseObject(members),
    ssn: z.object({ ...members, ssn: z.string() }),
    less: z.object({ id: members.id }),
  };
  const input = z.object({ orderId: z.string(), amount: z.number().max(most).default(0) });
  const functions = [
    defineFunction({
      ...of("get_order", order),
      effect: "read",
      input,
      ...(output !== "absent" && { output: outputs[output] }),
      roles: readers,
      authorize: (caller) => mayRead(caller as Caller),
      cases: {},
    }),
    defineFunction({
      ...of("refund_order"),
      input,
      roles: refunders,
      authorize: (caller) => mayRefund(caller as Caller),
      approval: { by: approvers, fourEyes, when: ({ input }) => input.amount > asksAbove },
    }),
    defineFunction({ ...of("wipe_data"), effect: "destructive", input: z.object({}), roles: wipers }),
    defineFunction({ ...of("list_hours"), effect: "read", input: z.object({}), roles: hours }),
  ].filter(({ manifest }) => manifest.name !== without);
  return defineService<Schema | undefined>({
    name: "shop",
    roles: ["customer", "support", "manager", "intern"],
    functions,
    ...(defaultRole !== undefined && { defaultRole }),
    ...(planted.context && { context: z.object({ customer: z.string() }) }),
  });
}

export const CALLS: [functionName: string, role: string | undefined, args: JsonObject, context?: JsonObject][] = [
  ["get_order", "customer", { orderId: "ada-1" }, { customer: "ada" }],
  ["get_order", "customer", { orderId: "ben-1" }, { customer: "ada" }],
  ["get_order", "customer", { orderId: "ben-2", amount: 70 }, { customer: "ada" }],
  ["get_order", "support", { orderId: "ben-1" }, { customer: "support" }],
  ["get_order", undefined, { orderId: "ada-1" }],
  ["get_order", "intern", { orderId: "ada-1" }, { customer: "ada" }],
  ["refund_order", "support", { orderId: "ada-1", amount: 10 }],
  ["refund_order", "support", { orderId: "ada-1", amount: 80 }],
  ["refund_order", "support", { orderId: "ada-1", amount: 500 }],
  ["refund_order", "support", { orderId: "locked", amount: 5 }],
  ["refund_order", "customer", { orderId: "ada-1", amount: 1 }, { customer: "ada" }],
  ["wipe_data", "manager", {}, { customer: "manager" }],
  ["wipe_data", undefined, {}, { customer: "none" }],
  ["list_hours", undefined, {}, { customer: "none" }],
  ["export_data", "manager", {}, { customer: "manager" }],
];

/** The calls as the real gate of a service decides and answers them. */
export async function record(service: Service, times = 1): Promise<JudgedCall[]> {
  const recorded: JudgedCall[] = [];
  for (let round = 0; round < times; round++)
    for (const [functionName, role, args, context = {}] of CALLS) {
      const outcome = await invoke(service, functionName, args, { context, ...(role !== undefined && { role }) });
      const refused = outcome.ok ? undefined : outcome;
      const decision = (): CaseDecision => {
        if (outcome.ok) return "allowed";
        return outcome.code === "approval_required" ? "approval" : "denied";
      };
      recorded.push({
        callId: `call_${recorded.length}`,
        runId: `run_${recorded.length}`,
        functionName,
        role,
        context,
        arguments: args,
        decision: decision(),
        rule: refused && (refused.rule ?? refused.code),
        succeeded: outcome.ok,
        redacted: (outcome.ok && outcome.redacted) || [],
        manifestHash: "set",
        manifest: service.manifest,
      });
    }
  return recorded;
}

/** `kind function role was → is calls`, in the order of the report. */
export const lines = ({ changes }: WhatIfReport): string[] =>
  changes.map(({ kind, functionName, role, was, is, calls }) =>
    [kind, functionName, role ?? "none", kind === "show" ? is : `${was} → ${is}`, String(calls)].join(" "),
  );
