import { WAIT_MS } from "@patchbay/test-support/patience";
import type { FunctionManifest, Manifest } from "@patchbay/protocol";
import type { CallOrder, Delivery } from "../../src/ports/function-gateway.ts";
import type { RunHandle } from "../../src/run/api.ts";
import { createApprovals } from "../../src/run/approvals.ts";
import { startScripted } from "./core.ts";
import { manifestOf, ok } from "./fake-gateway.ts";

const RULE = { by: ["manager", "caller"], conditional: true, edit: ["amount"], fourEyes: false, expiresInMs: 60_000 };
export const asks = (message = "Over 100."): Delivery => ({
  kind: "outcome",
  outcome: { ok: false, code: "approval_required", message, rule: "approval" },
});

/** A function `refund` that asks for an approval of amounts over 100, and `look_up`, which does not. */
export function manifest(change: Partial<FunctionManifest> = {}): Manifest {
  const made = manifestOf({ refund: ["clerk"], look_up: ["clerk"] });
  return {
    ...made,
    functions: made.functions.map((one) => (one.name === "refund" ? { ...one, approval: RULE, ...change } : one)),
  };
}

const answer = ({ functionName, approval }: CallOrder): Delivery =>
  functionName === "refund" && !approval ? asks() : ok(`${functionName} done`);

export const refund = (amount: number) => ["refund", { orderId: "o1", amount }] as const;
export const turnsOf = (...calls: (readonly [string, unknown])[]) => [{ calls }, { text: "Done." }];

export async function desk(
  turns: Parameters<typeof startScripted>[0] = turnsOf(refund(200)),
  options: Parameters<typeof startScripted>[1] = {},
) {
  const core = await startScripted(turns, { manifest: manifest(), answer, ...options });
  const principal = { ...core.caller, keyId: "key_2", can: ["approve" as const] };
  const approvals = createApprovals({ ...core.store, bus: core.bus });
  return {
    ...core,
    principal,
    approvals,
    /** The end of a run that waits for an approval now. */
    ended: (run: RunHandle) => core.runs.result(run, { signal: AbortSignal.timeout(WAIT_MS), waitMs: WAIT_MS }),
    begin: (more: Parameters<typeof core.start>[1] = {}) => core.start("Refund o1", { role: "clerk", ...more }),
    pending: async () => (await approvals.list(principal, { status: "pending", limit: 100 })).items,
    async decide(decision: Parameters<typeof approvals.decide>[2]) {
      const [first] = (await approvals.list(principal, { status: "pending", limit: 1 })).items;
      return approvals.decide(principal, first!.approvalId, { as: "manager", ...decision });
    },
  };
}
