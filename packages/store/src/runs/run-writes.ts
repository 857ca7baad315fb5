import type { CallErrorCode } from "@patchbay/protocol";
import { sql } from "kysely";
import { fromJson, manifestIn } from "../columns.ts";
import type { Engine } from "../engine.ts";
import type { RunRow } from "../tables/runs.ts";

type Reader = Pick<Engine, "db">;
type Ended = Pick<RunRow, "id" | "agent_id" | "status" | "manifest_hash" | "retry_of" | "finished_at">;

/** Failed calls whose handler may have taken effect: it did not answer, or its answer was too large. */
const MAY_HAVE_TAKEN_EFFECT: ReadonlySet<CallErrorCode> = new Set(["outcome_unknown", "timed_out", "result_too_large"]);

/**
 * Of these runs, those that ended without an answer after a call to a writing function that took effect or may have. A
 * function whose set was deleted counts as writing. A retry's calls include those of the runs that it
 * continues.
 */
export async function afterWrites(engine: Reader, all: readonly Ended[]): Promise<Set<string>> {
  const runs = all.filter(({ status }) => status === "failed" || status === "cancelled");
  if (runs.length === 0) return new Set();
  const ids = runs.map(({ id }) => id);
  const continues = await continuedBy(engine, runs);
  const retries = await retriesOf(engine, ids);
  const others = [...new Set([...continues.values()].flat())];
  const calls = await effectiveCalls(engine, [...new Set([...ids, ...others, ...retries.keys()])]);
  const sets = new Map([...runs, ...(await setsOf(engine, others))].map((run) => [run.id, run.manifest_hash]));
  const readOnly = await readOnlyNames(engine, new Set(runs.map(({ agent_id }) => agent_id)), sets.values());
  const wrote = ({ id, finished_at }: Ended): boolean => {
    const own = new Set([id, ...(continues.get(id) ?? [])]);
    return calls.some(({ run_id, function_name, began }) => {
      // A failed run's open call belongs to its retry, with its original creation time.
      const isMoved = !own.has(run_id) && isRetryOf(retries, run_id, id) && began <= (finished_at ?? 0);
      if (!isMoved && !own.has(run_id)) return false;
      const set = sets.get(isMoved ? id : run_id);
      return !readOnly.get(set ?? "")?.has(function_name);
    });
  };
  return new Set(runs.filter(wrote).map(({ id }) => id));
}

/** The runs that each retry continues. */
async function continuedBy({ db }: Reader, runs: readonly Ended[]): Promise<Map<string, readonly string[]>> {
  const retries = runs.filter(({ retry_of }) => retry_of !== null).map(({ id }) => id);
  if (retries.length === 0) return new Map();
  const rows = await db.selectFrom("runs").select(["id", "request"]).where("id", "in", retries).execute();
  return new Map(rows.map(({ id, request }) => [id, fromJson(request).retryOf?.continues ?? []]));
}

/** The retries of these runs, and their retries in turn, each with the run that it retries. */
async function retriesOf({ db }: Reader, runIds: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (let level = [...runIds]; level.length > 0;) {
    const rows = await db.selectFrom("runs").select(["id", "retry_of"]).where("retry_of", "in", level).execute();
    level = rows.map(({ id }) => id).filter((id) => !found.has(id));
    for (const { id, retry_of } of rows) found.set(id, retry_of!);
  }
  return found;
}

function isRetryOf(retries: ReadonlyMap<string, string>, runId: string, origin: string): boolean {
  for (let at = retries.get(runId); at !== undefined; at = retries.get(at)) if (at === origin) return true;
  return false;
}

/** The calls of these runs that took effect, or may have. */
async function effectiveCalls({ db }: Reader, runIds: readonly string[]) {
  const of = db.selectFrom("calls").where("run_id", "in", runIds);
  const succeeded = await of
    .select(({ fn }) => ["run_id", "function_name", fn.min("created_at").as("began")])
    .where("state", "=", "succeeded")
    .groupBy(["run_id", "function_name"])
    .execute();
  const failed = await of
    .select(["run_id", "function_name", "created_at as began", "outcome"])
    // A literal: only then does the database use the partial index on these calls.
    .where("state", "=", sql.lit("failed"))
    .execute();
  const open = await of
    .select(["run_id", "function_name", "created_at as began"])
    .where("finished_at", "is", null)
    // A call that waits for an approval was not sent before the decision.
    .where((eb) => eb.or([eb("state", "is", null), eb("sent_at", "is not", null), eb("accepted_by", "is not", null)]))
    .execute();
  const unsure = failed.filter(({ outcome }) => {
    const ended = outcome === null ? undefined : fromJson(outcome);
    return ended?.ok === false && MAY_HAVE_TAKEN_EFFECT.has(ended.code);
  });
  return [...succeeded, ...unsure, ...open];
}

const setsOf = async ({ db }: Reader, runIds: readonly string[]) =>
  runIds.length === 0
    ? []
    : await db.selectFrom("runs").select(["id", "manifest_hash"]).where("id", "in", runIds).execute();

/** Each set's read-only functions. A set is the same for every agent that has it. */
async function readOnlyNames(
  { db }: Reader,
  agentIds: ReadonlySet<string>,
  sets: Iterable<string | null>,
): Promise<Map<string, Set<string>>> {
  const hashes = [...new Set(sets)].filter((hash) => hash !== null);
  if (hashes.length === 0) return new Map();
  const rows = await db
    .selectFrom("manifests")
    .select(["hash", "body"])
    .where("agent_id", "in", [...agentIds])
    .where("hash", "in", hashes)
    .execute();
  const names = new Map<string, Set<string>>();
  for (const { hash, body } of rows) {
    const reading = (await manifestIn(body)).functions.filter(({ effect }) => effect === "read");
    names.set(hash, new Set(reading.map(({ name }) => name)));
  }
  return names;
}
