import type { QueryResponse, RunEvent } from "@patchbay/protocol";
import type { Insertable } from "kysely";
import { endingOf } from "@patchbay/store/tables/runs";
import type { Schema } from "@patchbay/store/tables/schema";
import { chance, idOf, noteOf, steps, type Ids, type Plan } from "./sample-turns.ts";
import { sampleAnswer } from "../../control-plane/test/sample-answer.ts";

const ASKED = ["orders that are late", "the parcel of Ms Lang", "refunds of this week", "stock of blue chairs"];
const HOLD_MICROS = 20_000;

/** The rows of one or several runs, by table. */
export type Rows = { [Table in keyof Schema]?: Insertable<Schema[Table]>[] };

export interface Place {
  orgId: string;
  agentId: string;
  manifestHash: string;
}

/** Nine runs in a row are of one session, as far as they name one. */
export const sessionOf = (i: number): string => `session-${Math.floor(i / 9)}`;
export const threadOf = (agentId: string, i: number): string => idOf("thr", agentId, Math.floor(i / 3));

const sortedId = (prefix: string, at: number, n: number): string =>
  `${prefix}_${String(at).padStart(15, "0")}${String(n).padStart(8, "0")}${"0".repeat(16)}`;

/** Run number `i` of a place with all that belongs to it, begun at `at` and ended by now. Three runs share a thread, nine a session. */
export function sampleRun(place: Place, i: number, at: number): Rows {
  const draw = chance(i + 1);
  const plan = planOf(draw);
  const ids = {
    run_id: idOf("run", place.agentId, i),
    org_id: place.orgId,
    agent_id: place.agentId,
    thread_id: threadOf(place.agentId, i),
  };
  const spent = steps(ids, plan, draw, i, at);
  const end = spent.end;
  const query = `No. ${i}: show me ${ASKED[i % ASKED.length]}${i % 5 === 0 ? ` 100% of them, ${"please ".repeat(20)}` : ""}`;
  const result = resultOf(ids, plan, spent, end - at);
  const audit = [
    { ...noteOf(ids, plan, "run.started", at), manifest_hash: place.manifestHash },
    ...spent.audit,
    {
      ...noteOf(ids, plan, plan.status === "succeeded" ? "run.succeeded" : "run.failed", end),
      rule: plan.code ?? null,
    },
  ].map((entry, n) => ({ ...entry, id: sortedId("aud", entry.created_at, i * 16 + n) }));
  const events = [...spent.events, { at: end, event: lastEvent(result) }];

  return {
    runs: [
      {
        id: ids.run_id,
        org_id: ids.org_id,
        agent_id: ids.agent_id,
        thread_id: ids.thread_id,
        position: (i % 3) + 1,
        session_id: i % 4 === 3 ? null : sessionOf(i),
        key_id: plan.keyId,
        role: plan.role,
        subject: null,
        kind: plan.provider === "test_call" ? "call" : "query",
        status: plan.status,
        owner: null,
        fence: plan.turns === 0 ? 0 : 1,
        lease_until: null,
        claims: 0,
        crashes: 0,
        last_seq: events.length,
        manifest_hash: place.manifestHash,
        request: JSON.stringify({
          query,
          ...(plan.role !== null && { role: plan.role }),
          context: { shop: i % 7, locale: "en" },
          analysisMode: i % 11 === 0,
          provider: plan.provider,
          model: plan.model,
          maxTokens: 8192,
          system: "You are the clerk of a shop. ".repeat(30),
          charged: true,
          warnings: [],
        }),
        cancel_requested: plan.status === "cancelled" ? 1 : 0,
        created_at: at,
        started_at: plan.turns === 0 ? null : at + 2,
        finished_at: end,
        deadline_at: at + 240_000,
        result: JSON.stringify(result),
        ending: JSON.stringify(endingOf(result)),
        history: JSON.stringify([{ role: "user", text: query }]),
      },
    ],
    run_events: events.map(({ at: created_at, event }, n) => ({
      run_id: ids.run_id,
      seq: n + 1,
      org_id: ids.org_id,
      body: JSON.stringify(event),
      created_at,
    })),
    turns: spent.turns,
    calls: spent.calls,
    usage: spent.turns.map(({ messages: _messages, warnings: _warnings, ...turn }) => ({
      ...turn,
      agent_id: ids.agent_id,
      role: plan.role,
      provider: plan.provider,
      model: plan.model,
      turns: 1,
    })),
    ledger: spent.turns.flatMap((turn, n) => {
      const of = { org_id: ids.org_id, run_id: ids.run_id, step: turn.step };
      const held = turn.created_at - 500;
      const back = HOLD_MICROS - turn.cost_micros;
      return [
        {
          ...of,
          id: sortedId("led", held, i * 16 + n * 2),
          kind: "reserve" as const,
          micros: -HOLD_MICROS,
          created_at: held,
        },
        {
          ...of,
          id: sortedId("led", turn.created_at, i * 16 + n * 2 + 1),
          kind: "settle" as const,
          micros: back,
          created_at: turn.created_at,
        },
      ];
    }),
    audit,
  };
}

/** Most queries succeed after two turns; one in fifty never reached a model. */
function planOf(draw: () => number): Plan {
  const source = draw();
  const testCall = source > 0.98;
  const keyId = testCall || source > 0.9 ? "mem_1" : source > 0.8 ? "tok_1" : `key_${1 + Math.floor(source * 4)}`;
  const who = draw();
  const role = who < 0.6 ? "customer" : who < 0.85 ? "support" : who < 0.9 ? "manager" : null;
  const dear = draw() < 0.3;
  const model = dear
    ? { provider: "openai", model: "gpt-5.2" }
    : { provider: "anthropic", model: "claude-haiku-4-5-20251001" };
  const fate = draw();
  const turns = 1 + Math.floor(draw() * 3);
  const common = { role, keyId, ...(testCall ? { provider: "test_call", model: "test_call" } : model) };
  if (fate < 0.9) return { ...common, status: "succeeded", turns };
  if (fate < 0.96) return { ...common, status: "failed", code: "provider_error", turns };
  if (fate < 0.98) return { ...common, status: "cancelled", code: "cancelled", turns };
  return { ...common, status: "failed", code: "agent_session_not_found", turns: 0 };
}

function resultOf(ids: Ids, plan: Plan, spent: ReturnType<typeof steps>, executionTimeMs: number): QueryResponse {
  const sum = (pick: (turn: Insertable<Schema["turns"]>) => number) => spent.turns.reduce((all, t) => all + pick(t), 0);
  return {
    success: plan.status === "succeeded",
    errorMessage: plan.code === undefined ? "" : `It failed: ${plan.code}`,
    ...(plan.code !== undefined && { code: plan.code }),
    ...sampleAnswer({ response: plan.status === "succeeded" ? "Two are late." : "", threadId: ids.thread_id }),
    runId: ids.run_id,
    executionTimeMs,
    usage: {
      inputTokens: sum((turn) => turn.input_tokens),
      outputTokens: sum((turn) => turn.output_tokens),
      cachedInputTokens: sum((turn) => turn.cached_input_tokens),
      cacheWriteInputTokens: sum((turn) => turn.cache_write_input_tokens),
      costUsd: sum((turn) => turn.cost_micros) / 1_000_000,
    },
  };
}

function lastEvent(result: QueryResponse): RunEvent {
  const { success, errorMessage, code, ...rest } = result;
  if (success) return { type: "finalResponse", ...rest };
  return { type: "error", errorMessage, code: code ?? "internal", threadId: rest.threadId, runId: rest.runId };
}

export function grantOf(orgId: string, at: number, micros: number): Insertable<Schema["ledger"]> {
  return { id: sortedId("led", at, 0), org_id: orgId, run_id: null, step: null, kind: "grant", micros, created_at: at };
}
