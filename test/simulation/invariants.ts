import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import type { CallOutcome } from "@patchbay/protocol";
import { violations as storedViolations } from "@patchbay/store/proof/violations";
import type { Cluster } from "./cluster.ts";
import { POISON } from "./model.ts";
import { type FaultKind, MOST_KILLS, type Plan } from "./plan.ts";
import { AT_MOST_ONCE, DETACHED, type Execution, LIMIT, MANAGERS_ONLY } from "./service.ts";

/** A run's end is at most this late while a replica lives: docs/reliability.md. */
export const GRACE_MS = 20_000;

type Row = Record<string, string | number | null>;

/** Rows of the tables that the invariants compare. */
async function read({ store }: Cluster) {
  const all = (table: string): Promise<Row[]> =>
    store.engine.db
      .selectFrom(table as never)
      .selectAll()
      .execute();
  const names = [
    "runs",
    "run_events",
    "turns",
    "calls",
    "approvals",
    "webhook_deliveries",
    "audit",
    "function_sets",
    "runtimes",
  ];
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await all(name)] as const)));
}

/** What a finished simulation shows that must not be. */
export async function violationsOf(cluster: Cluster): Promise<string[]> {
  const tables = await read(cluster);
  const stored = tables["run_events"]!.toSorted((a, b) => Number(a["seq"]) - Number(b["seq"]));
  const events = Map.groupBy(stored, ({ run_id: id }) => String(id));
  return [
    ...tables["runs"]!.flatMap((run) => [...runViolations(run, events.get(String(run["id"])) ?? [], cluster)]),
    ...clientViolations(cluster, tables, events),
    ...callViolations(tables["calls"]!, cluster),
    ...approvalViolations(tables["approvals"]!, cluster),
    ...deliveryViolations(tables["webhook_deliveries"]!, cluster),
    ...auditViolations(tables["audit"]!),
    ...setViolations(tables, cluster),
    ...turnViolations(cluster),
    ...ownFailures(cluster),
    ...(await rowViolations(cluster)),
  ];
}

const SILENCING: readonly FaultKind[] = ["replica frozen", "replica store lost"];
const HIDING: readonly FaultKind[] = ["replica frozen", "disk full", "store lost", "replica store lost"];

/** What `patchbay doctor --runs` finds. */
async function rowViolations({ store, steppedAt, faults }: Cluster): Promise<string[]> {
  // Entries since the clock was set back are older than the last seal.
  const isSealed = steppedAt === 0;
  if (isSealed) await store.audit.seal({ settleMs: 0 });
  const proof = await storedViolations(store);
  // A replica that is frozen or cannot write does not record a clock that is set back and ahead again: deadlines of the time between are
  // too early.
  const isHidden = !isSealed && HIDING.some((fault) => faults[fault] !== undefined);
  return proof.violations
    .filter(({ invariant }) => isSealed || invariant !== "audit log")
    .filter(({ invariant }) => !isHidden || invariant !== "ends more than 20 s after its deadline")
    .map(({ runId = "credits", invariant, expected, found }) => `${runId}: ${invariant}: ${expected}, found ${found}`);
}

const isLast = (body: string): boolean => /^\{"type":"(finalResponse|error)"/.test(body);

/** Other replicas end the leases of a living one that was silent for so long. */
const SILENT_MS = 10_000;

/** How often a run can lose its lease by faults from outside. */
function mostLosses({ replicas, killAt, faults }: Plan): number {
  const silent = faults.filter(({ kind, ms }) => SILENCING.includes(kind) && ms > SILENT_MS);
  const kills = [...killAt.filter(Boolean), ...faults.filter(({ kind }) => kind === "replica killed")];
  return kills.length + (replicas > 1 ? silent.length : 0);
}

/** A run's time begins when the request for it arrives, which is stored at most this much later: the client's patience. */
const ACCEPTED_MS = 45_000;

function* runViolations(run: Row, events: Row[], { calm, plan, steppedAt }: Cluster): Generator<string> {
  const id = String(run["id"]);
  const { query } = JSON.parse(String(run["request"])) as { query: string };
  if (run["finished_at"] === null && calm) yield `${id} (${query}): has not ended, status ${run["status"]}`;
  const body = String(events.at(-1)?.["body"] ?? "");
  if (query !== POISON && body.includes('"code":"crash_loop"') && mostLosses(plan) <= MOST_KILLS)
    yield `${id} (${query}): innocent, and ended as crash_loop`;
  const workedMs = Number(run["finished_at"]) - Number(run["created_at"]) - Number(run["waited_ms"]);
  if (body.includes('"code":"deadline_exceeded"') && steppedAt === 0 && workedMs < plan.runTimeoutMs - ACCEPTED_MS)
    yield `${id} (${query}): ended at its deadline after ${workedMs} ms of ${plan.runTimeoutMs}`;
  if (body.includes('"code":"internal"')) yield `${id} (${query}): ended with an internal error`;
}

function* clientViolations(
  { clients }: Cluster,
  { runs, turns }: Record<string, Row[]>,
  events: Map<string, Row[]>,
): Generator<string> {
  const known = new Set(runs!.map(({ id }) => String(id)));
  const asked = new Set(turns!.map(({ run_id: id }) => String(id)));
  for (const { name, runIds, runId, seen, early, answer, refusal, query } of clients) {
    if (early !== undefined) yield `${name}: read event ${early} before it was stored`;
    if (refusal !== undefined) yield `${name}: ${refusal}`;
    // A run that ended before its first model turn releases its key.
    const began = [...runIds].filter((id) => asked.has(id));
    if (began.length > 1) yield `${name}: one idempotency key began ${began.length} runs`;
    for (const id of runIds) if (!known.has(id)) yield `${name}: the acknowledged run ${id} is not stored`;
    if (runId === undefined) continue;
    const stored = new Map((events.get(runId) ?? []).map(({ seq, body }) => [Number(seq), String(body)]));
    for (const [i, event] of seen.entries()) {
      if (event.id !== i + 1) yield `${name}: read event ${event.id} at place ${i + 1}`;
      if (stored.get(event.id) !== event.body) yield `${name}: read another event ${event.id} than the stored one`;
    }
    if (answer && query !== POISON && !isLast([...stored.values()].at(-1) ?? ""))
      yield `${name}: has an answer of a run without an end`;
  }
}

/** Without the store for so long, a replica lets the record of its connections end: after 15 s, with a renewal every 5 s. */
const CONNECTION_LOST_MS = 9_000;

/** With this share of lost messages, a replica may get no answer about a call before it gives up. */
const HEAVY_LOSS = 0.2;

function* callViolations(calls: Row[], { effects, faults, longestLossMs, plan }: Cluster): Generator<string> {
  const isUnseen =
    faults["replica frozen"] !== undefined || longestLossMs > CONNECTION_LOST_MS || plan.bus.loss >= HEAVY_LOSS;
  const executions = Map.groupBy(effects.executions, ({ callId }) => callId);
  for (const call of calls) {
    const id = String(call["id"]);
    const name = String(call["function_name"]);
    const outcome = call["outcome"] === null ? undefined : (JSON.parse(String(call["outcome"])) as CallOutcome);
    const stored = { name, outcome, role: call["role"], last: Number(call["attempt"]), isUnseen };
    yield* executionViolations(id, stored, executions.get(id) ?? []);
    executions.delete(id);
  }
  for (const id of executions.keys()) yield `${id}: a handler ran for a call that is not stored`;
}

function* executionViolations(
  id: string,
  {
    name,
    outcome,
    role,
    last,
    isUnseen,
  }: { name: string; outcome: CallOutcome | undefined; role: unknown; last: number; isUnseen: boolean },
  executions: readonly Execution[],
): Generator<string> {
  const ends = executions.filter(({ ended }) => ended).length;
  if (DETACHED.includes(name) && executions.length > 2) yield `${id}: ${name} ran ${executions.length} times`;
  if (AT_MOST_ONCE.has(name) && executions.length > 1) yield `${id}: ${name} ran ${executions.length} times`;
  // The runtime has the result until the call is stored. A replica that was frozen, or did not find its connection in the store, has not
  // waited for it.
  const isReachable = ({ alive, frozenUntil }: Execution["process"]): boolean => alive && frozenUntil === 0;
  // An earlier attempt failed, and its runtime does not know how the last one ended, which another runtime may have received.
  const kept =
    !isUnseen && executions.some(({ attempt, ended, process }) => attempt === last && ended && isReachable(process));
  if (kept && outcome?.ok === false && outcome.code === "outcome_unknown")
    yield `${id}: ${name} ended in a runtime that lives, and its outcome is unknown`;
  if (outcome?.ok && ends === 0) yield `${id}: ${name} succeeded, and no handler ended`;
  if (MANAGERS_ONLY.has(name) && executions.length > 0 && role !== "manager")
    yield `${id}: ${name} ran for ${String(role)}`;
  for (const { role: seen, functionName } of executions) {
    if (seen !== role) yield `${id}: the handler saw the role ${seen}, and the call has ${String(role)}`;
    if (functionName !== name) yield `${id}: ${functionName} ran as ${name}`;
  }
}

function* approvalViolations(approvals: Row[], { decisions, effects }: Cluster): Generator<string> {
  const acknowledged = Map.groupBy(decisions, ({ approvalId }) => approvalId);
  for (const approval of approvals) {
    const id = String(approval["id"]);
    const mine = acknowledged.get(id) ?? [];
    if (mine.length > 1) yield `${id}: ${mine.length} decisions were acknowledged`;
    const [decision] = mine;
    const status = approval["status"];
    if (decision && status !== (decision.approved ? "approved" : "rejected"))
      yield `${id}: acknowledged as ${decision.approved ? "approved" : "rejected"}, and stored as ${status}`;
    for (const execution of effects.executions.filter(({ callId }) => callId === approval["call_id"])) {
      if (status !== "approved") yield `${id}: the handler ran, and the approval is ${status}`;
      if (!execution.approved) yield `${id}: the handler ran without the decision`;
      if (decision && execution.amount !== decision.amount)
        yield `${id}: the handler ran with ${execution.amount}, and ${decision.amount} was approved`;
    }
  }
}

/** The shortest pause before a delivery is sent again. */
const PAUSE_MS = 2_400;

function* deliveryViolations(deliveries: Row[], { delivered, sent, steppedAt }: Cluster): Generator<string> {
  for (const [id, times] of steppedAt === 0 ? sent : [])
    for (const [i, at] of times.slice(1).entries())
      if (at - times[i]! < PAUSE_MS) yield `${id}: was sent again after ${Math.round(at - times[i]!)} ms`;
  for (const { id, status } of deliveries) {
    if (status === "delivered" && !delivered.has(String(id))) yield `${id}: stored as delivered, and never arrived`;
    // Others are newer than the end of the simulation.
    if (status === "failed") yield `${id}: the delivery is ${status}`;
  }
}

function* auditViolations(entries: Row[]): Generator<string> {
  const late = Map.groupBy(
    entries.filter(({ action }) => action === "call.late"),
    ({ call_id: id }) => String(id),
  );
  for (const [id, { length }] of late) if (length > 1) yield `${id}: ${length} audit entries about its late result`;
}

/** How old a replica's knowledge of connections may be, and a run's choice before it is stored. */
const CHOICE_MS = 2_000;
/** A record of a connection that is not renewed for so long has ended. */
const RECORD_MS = 15_000;

/** A run that begins without the newest function set would give its role functions that this set no longer has. */
function* setViolations(tables: Record<string, Row[]>, cluster: Cluster): Generator<string> {
  const { faults, world, steppedAt, longestLossMs } = cluster;
  // A set that was registered after the clock was set back looks older than the runs before it, and the record of a connection may have
  // ended meanwhile. A replica that is cut off from a set's runtimes takes an older set that allows no more.
  if (steppedAt > 0 || faults["replica frozen"] !== undefined || faults.partition !== undefined) return;
  if (longestLossMs > CONNECTION_LOST_MS) return;
  const sets = tables["function_sets"]!.toSorted((a, b) => Number(b["place"]) - Number(a["place"]));
  const now = world.wallMs(world.machine);
  const open = tables["runtimes"]!.filter(
    (one) => one["connected"] === 1 && now - Number(one["last_seen_at"]) < RECORD_MS,
  );
  for (const run of tables["runs"]!) {
    const chosenAt = Number(run["created_at"]) - CHOICE_MS;
    const own = sets.find((set) => set["manifest_hash"] === run["manifest_hash"]);
    // The oldest set offers the fewest functions: without its runtimes, it serves as well as with them.
    const newest = sets.find(
      (set) =>
        Number(set["first_seen_at"]) < chosenAt &&
        (own?.["deployment"] === "release-2" ||
          open.some((one) => one["deployment"] === set["deployment"] && Number(one["opened_at"]) < chosenAt)),
    );
    if (newest && own && Number(own["place"]) < Number(newest["place"]))
      yield `${run["id"]}: has the set of ${own["deployment"]}, and ${newest["deployment"]} is newer`;
  }
}

/** Two crashes, then groups of up to 16 runs, and twice by itself. */
const MOST_CRASHES = 9;
/** A run without a reader is cancelled, or waits for one. */
const GONE_MS = 7_000;

function* turnViolations({ asked, clients, claims, faults, plan, effects, steppedAt }: Cluster): Generator<string> {
  const crashes = asked.filter(({ query }) => query === POISON).length;
  if (crashes > MOST_CRASHES) yield `the poison crashed ${crashes} processes`;
  // Only the process that holds a permit keeps it when the database's clock jumps.
  const areLost = steppedAt > 0 && faults["replica killed"] !== undefined;
  if (effects.mostLimited > LIMIT && !areLost) yield `limited_charge ran ${effects.mostLimited} times at once`;
  // A frozen replica begins a turn of a run that it has lost, and the count of readers may not reach another replica.
  if (faults["replica frozen"] || faults["partition"] || plan.bus.loss > 0) return;
  for (const { left, query, runIds } of clients) {
    if (!left) continue;
    const claim = claims.find(({ runId, at }) => runIds.has(runId) && at > left.at + GONE_MS);
    const turn = claim && asked.find((one) => one.query === query && one.at > claim.at);
    if (turn)
      yield `${claim.runId}: begins a turn at ${Math.round(turn.at)} ms, and its reader left at ${Math.round(left.at)} ms`;
  }
}

/** Runs that the product itself broke: with the store in reach, its errors are those of providers and functions. */
function ownFailures({ world }: Cluster): string[] {
  return world.errors
    .filter(
      ({ message, cause }) =>
        message === "run could not be ended, left for recovery" && !(cause instanceof StoreUnavailable),
    )
    .map(({ cause }) => `a run was left for recovery: ${String(cause)}`);
}
