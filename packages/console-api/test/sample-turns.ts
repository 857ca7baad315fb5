import { createHash } from "node:crypto";
import type { CallOutcome, QueryResponse, RunEvent, RunStatus } from "@patchbay/protocol";
import type { Insertable } from "kysely";
import type { Schema } from "@patchbay/store/tables/schema";

/** Called less and less often; the last one hardly ever. */
export const FUNCTIONS = [
  "list_orders",
  "get_order",
  "track_parcel",
  "find_customer",
  "search_products",
  "stock_level",
  "refund_order",
  "cancel_order",
  "list_invoices",
  "change_address",
  "open_ticket",
  "add_note",
  "discount_code",
  "daily_report",
  "export_orders",
  "close_shop",
];
/** Numbers from 0 to 1 that are the same for the same seed. */
export function chance(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const idOf = (prefix: string, ...parts: (string | number)[]): string =>
  `${prefix}_${createHash("md5").update(parts.join(" ")).digest("hex")}`;

/** What becomes of a run. */
export interface Plan {
  role: string | null;
  keyId: string;
  status: RunStatus;
  code?: QueryResponse["code"];
  provider: string;
  model: string;
  turns: number;
}

export type Ids = { run_id: string; org_id: string; agent_id: string; thread_id: string };

/** An audit entry that still lacks its id. */
export function noteOf(ids: Ids, plan: Plan, action: string, created_at: number) {
  const { run_id, org_id, agent_id } = ids;
  const none = { call_id: null, function_name: null, rule: null, manifest_hash: null as string | null, detail: null };
  return { run_id, org_id, agent_id, action, role: plan.role, key_id: plan.keyId, created_at, ...none };
}

/** The turns of a run and their calls, with their events, one after the other from `at`. */
export function steps(ids: Ids, plan: Plan, draw: () => number, i: number, at: number) {
  const made = {
    turns: [] as Insertable<Schema["turns"]>[],
    calls: [] as Insertable<Schema["calls"]>[],
    events: [] as { at: number; event: RunEvent }[],
    audit: [] as (Omit<Insertable<Schema["audit"]>, "id"> & { created_at: number })[],
    end: at + 3,
  };
  for (let step = 0; step < plan.turns; step++) {
    made.end += Math.round(300 + 2_000 * draw() ** 3);
    const asks = step < plan.turns - 1 ? 1 + Math.floor(draw() * 2) : 0;
    const input = 1_500 + step * 600;
    const calls = Array.from({ length: asks }, (_, position) => callOf(ids, draw, { step, position, i, at: made.end }));
    made.turns.push({
      run_id: ids.run_id,
      step,
      org_id: ids.org_id,
      messages: JSON.stringify([
        {
          role: "assistant",
          text: asks > 0 ? "" : "Two are late.",
          calls: calls.map(({ row }) => ({
            id: row.model_call_id,
            name: row.function_name,
            arguments: row.arguments,
          })),
        },
      ]),
      warnings: "[]",
      input_tokens: input,
      cached_input_tokens: step * 1_000,
      cache_write_input_tokens: 500,
      output_tokens: 60 + Math.floor(draw() * 200),
      cost_micros: plan.provider === "test_call" ? 0 : 900 + Math.floor(draw() * 4_000),
      created_at: made.end,
    });
    for (const { row, outcome } of calls) {
      const about = { toolName: row.function_name, toolCallId: row.id };
      made.calls.push({ ...row, agent_id: ids.agent_id, role: plan.role, state: stateOf(outcome) });
      made.events.push({
        at: row.created_at,
        event: { type: "toolCall", ...about, parameters: { orderId: `o-${i}` } },
      });
      made.events.push({ at: row.finished_at, event: { type: "toolResult", ...about, ...membersOf(outcome) } });
      made.audit.push({
        ...noteOf(ids, plan, `call.${stateOf(outcome)}`, row.finished_at),
        call_id: row.id,
        function_name: row.function_name,
        rule: outcome.ok ? null : (outcome.rule ?? outcome.code),
      });
    }
    made.end = Math.max(made.end, ...calls.map(({ row }) => row.finished_at));
  }
  return made;
}

const membersOf = (outcome: CallOutcome) =>
  outcome.ok
    ? { success: true, result: outcome.value }
    : { success: false, errorMessage: outcome.message, code: outcome.code };

const stateOf = (outcome: CallOutcome) => (outcome.ok ? "succeeded" : outcome.rule === undefined ? "failed" : "denied");

function callOf(
  ids: Ids,
  draw: () => number,
  { step, position, i, at }: { step: number; position: number; i: number; at: number },
) {
  const outcome = outcomeOf(draw());
  const refused = !outcome.ok && outcome.rule === "roles";
  const rare = draw() < 0.0005;
  const name = rare ? FUNCTIONS.at(-1)! : FUNCTIONS[Math.floor(draw() ** 2 * (FUNCTIONS.length - 1))]!;
  const row = {
    id: idOf("call", ids.run_id, step, position),
    run_id: ids.run_id,
    org_id: ids.org_id,
    step,
    position,
    model_call_id: `m${step}.${position}`,
    function_name: name,
    arguments: JSON.stringify({ orderId: `o-${i}`, limit: 10 }),
    instance_id: refused ? null : `rt_${i % 2}`,
    attempt: draw() < 0.01 ? 2 : 1,
    accepted_by: null,
    outcome: JSON.stringify(outcome),
    arrived: null,
    created_at: at,
    finished_at: refused ? at : at + Math.round(5 + 400 * draw() ** 3),
  };
  return { row, outcome };
}

function outcomeOf(drawn: number): CallOutcome {
  const refused = (code: "unknown_function" | "denied" | "invalid_arguments", rule: string) =>
    ({ ok: false, code, message: `Not permitted by ${rule}.`, rule }) as const;
  if (drawn < 0.04) return refused("unknown_function", "roles");
  if (drawn < 0.06) return refused("denied", "authorize");
  if (drawn < 0.07) return refused("invalid_arguments", "input");
  if (drawn < 0.1) return { ok: false, code: "function_failed", message: "The function failed." };
  const value = Array.from({ length: 5 }, (_, n) => ({ orderId: `o-${n}`, days: n, city: "Graz" }));
  return { ok: true, value, ...(drawn > 0.9 && { redacted: ["[].email"] }) };
}
