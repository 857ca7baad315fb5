/** One function call in the plan of a query. */
export interface PlannedCall {
  name:
    | "charge"
    | "fetch_record"
    | "approved_charge"
    | "flaky_read"
    | "flaky_charge"
    | "limited_charge"
    | "charged"
    | "uncharged"
    | "unclear_charge";
  /** Identifies the piece of work across processes, to detect a second run of it under another call id. */
  id: string;
  /** Duration of the function. */
  ms?: number;
  /** The function ends once this gate is open. */
  gate?: string;
}

/** The model's turns for a query: a list of calls for each turn, then an answer. */
export interface Plan {
  id: string;
  turns: PlannedCall[][];
  /** Delay of the model before each turn. */
  thinkMs?: number;
}

/** A query that contains a plan, which the model follows. */
export function queryOf(plan: Plan): string {
  return `Do as planned: ${JSON.stringify(plan)}`;
}

export function planOf(query: string): Plan {
  return JSON.parse(query.slice(query.indexOf("{"), query.lastIndexOf("}") + 1)) as Plan;
}

export function answerOf(plan: Plan): string {
  return `Done: ${plan.id}.`;
}
