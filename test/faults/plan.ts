/** One function call that a query's plan asks for. */
export interface PlannedCall {
  name: "charge" | "fetch_record";
  /** Names the piece of work over all processes: a second run of it shows, under whatever call id. */
  id: string;
  /** Time the function takes. */
  ms?: number;
  /** The function ends once this gate was opened. */
  gate?: string;
}

/** What a query makes the model do: a list of calls for each turn, then an answer. */
export interface Plan {
  id: string;
  turns: PlannedCall[][];
  /** Time the model takes before each turn. */
  thinkMs?: number;
}

/** The query that carries a plan to the model, which does what it says. */
export function queryOf(plan: Plan): string {
  return `Do as planned: ${JSON.stringify(plan)}`;
}

export function planOf(query: string): Plan {
  return JSON.parse(query.slice(query.indexOf("{"), query.lastIndexOf("}") + 1)) as Plan;
}

export function answerOf(plan: Plan): string {
  return `Done: ${plan.id}.`;
}
