import { present } from "@patchbay/kit";
import type { TokenUsage } from "@patchbay/engine/ports/model-provider";
import type { ModelRetry, TurnRecord } from "@patchbay/engine/ports/records";
import type { RunCommit } from "@patchbay/engine/ports/store/run-store";
import { fromJson } from "../columns.ts";
import { bigint, integer, json, recordColumns, type RowOf, text } from "./table.ts";

/** Tokens and cost of a turn. */
type Spent = Pick<TurnRecord, "step" | "costMicros"> & Required<Omit<TokenUsage, "hourCacheWriteInput" | "reasoning">>;
const AMOUNTS = {
  input: bigint("input_tokens"),
  cachedInput: bigint("cached_input_tokens"),
  cacheWriteInput: bigint("cache_write_input_tokens"),
  output: bigint("output_tokens"),
  costMicros: bigint("cost_micros"),
};
const SPENT = { step: integer("step"), ...AMOUNTS };

type Turn = Spent & Pick<TurnRecord, "messages" | "warnings"> & { beganAt?: number; retries?: ModelRetry[] };
const TURN = {
  ...SPENT,
  messages: json("messages"),
  warnings: json("warnings"),
  beganAt: bigint("began_at"),
  retries: json("retries"),
};

type Answer = Spent & Pick<TurnRecord, "provider" | "model"> & Pick<TokenUsage, "reasoning">;
const ANSWER = { ...SPENT, provider: text("provider"), model: text("model"), reasoning: bigint("reasoning_tokens") };

type Usage = Answer & { firstTokenMs?: number };
const USAGE = { ...ANSWER, firstTokenMs: integer("first_token_ms") };

/**
 * A stored model turn. `began_at`: the start of its first model request; `created_at` is its end. `retries` are failed attempts; null
 * when the first one succeeded.
 */
export interface TurnRow extends RowOf<Turn, typeof TURN> {
  run_id: string;
  org_id: string;
  created_at: number;
}

/** What one turn cost. `first_token_ms`: null for condensed rows, and for turns without text. */
export interface UsageRow extends RowOf<Usage, typeof USAGE> {
  run_id: string;
  org_id: string;
  agent_id: string;
  role: string | null;
  /** Number of turns: above 1 in rows that condense a day's old usage. */
  turns: number;
  created_at: number;
}

export const amountColumns = recordColumns<Omit<Spent, "step">>()(AMOUNTS);
export const turnColumns = recordColumns<Turn>()(TURN);
export const usageColumns = recordColumns<Usage>()(USAGE);
/** Of both tables. */
export const bothColumns = recordColumns<Turn & Usage>()({ ...TURN, ...USAGE });
export const answerColumns = recordColumns<Answer>()(ANSWER);

type NewTurn = NonNullable<RunCommit["turn"]>;

/** The members of a turn, as the columns of both tables store them. */
export const storedTurn = ({ usage, timing, ...turn }: NewTurn): Turn & Usage => ({
  ...turn,
  ...usage,
  cacheWriteInput: usage.cacheWriteInput ?? 0,
  ...present({
    beganAt: timing?.beganAt,
    retries: timing?.retries.length ? timing.retries : undefined,
    firstTokenMs: timing?.firstTokenMs,
  }),
});

type AnswerRow = RowOf<Answer, typeof ANSWER>;

/** A turn without its messages. */
export function answerOf(row: AnswerRow): Omit<TurnRecord, "messages" | "warnings"> {
  const { step, provider, model, costMicros, ...usage } = answerColumns.recordOf(row);
  return { step, provider, model, costMicros, usage };
}

export const turnOf = (row: AnswerRow & Pick<TurnRow, "messages" | "warnings">): TurnRecord => ({
  ...answerOf(row),
  messages: fromJson(row.messages),
  warnings: fromJson(row.warnings),
});
