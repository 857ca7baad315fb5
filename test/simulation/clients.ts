import type { QueryResponse } from "@patchbay/protocol";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import { StoreUnavailable } from "@patchbay/engine/ports/store/run-store";
import type { Principal, RunHandle } from "@patchbay/engine/run/api";
import { POISON } from "./model.ts";
import type { Random } from "@patchbay/test-support/random";
import { ConnectionLost, type Replica } from "./replica.ts";
import { Process, type World } from "@patchbay/test-support/world";

export const AGENT = { agentId: "agt_shop", orgId: "org_shop" };

/** Keys in the store. */
export const KEYS = { clerk: "key_clerk", manager: "key_manager", approver: "key_approver" };

const caller = (keyId: string, roles: string[]): Principal => ({ keyId, ...AGENT, tier: "scale", roles });
/** The approver's key reads the runs of both roles. */
export const ROLES = ["manager", "clerk"];
const approver: Principal = { ...caller(KEYS.approver, ROLES), can: ["approve"] };

/** How a client reads its run. */
export type Manner = "json" | "stream" | "async" | "abandons" | "cancels";
const MANNERS: readonly Manner[] = ["json", "stream", "stream", "async", "abandons", "cancels"];

/** What one client sent and saw. */
export interface ClientRecord {
  name: string;
  query: string;
  role: "clerk" | "manager";
  manner: Manner;
  /** Every run that a request with its idempotency key returned. */
  runIds: Set<string>;
  /** The run that it reads: the first one. */
  runId: string | undefined;
  /** Stored events that it read from a stream, in order. */
  seen: { id: number; body: string }[];
  /** The first event that arrived before it was stored. */
  early: number | undefined;
  answer: QueryResponse | undefined;
  /** True once its cancellation was acknowledged. */
  cancelled: boolean;
  /** When it disconnected for good from a stream that it had read, and from which replica. */
  left: { at: number; replica: Replica } | undefined;
  /** Why it gave up. */
  refusal: string | undefined;
  done: boolean;
}

/** A decision that was acknowledged. */
export interface DecisionRecord {
  approvalId: string;
  approved: boolean;
  amount: number | undefined;
}

export interface ClientDeps {
  world: World;
  /** Replicas that serve. */
  serving: () => readonly Replica[];
  /** Whether an event is stored, at once. Absent where that takes time. */
  isStored?: ((runId: string, seq: number) => Promise<boolean>) | undefined;
  random: Random;
}

/** How long a client waits for an answer before it asks another replica. */
const PATIENCE_MS = 45_000;
const TRIES = 60;
/** How long a client waits for a run that waits: less than its patience. */
const WAIT_MS = 30_000;

/** Sends a query and reads its run to the end, over lost connections. */
export function startClient(number: number, deps: ClientDeps): ClientRecord {
  const { world, random } = deps;
  const isPoison = number === 0 && random.chance(0.15);
  const record: ClientRecord = {
    name: `client-${number}`,
    query: isPoison ? POISON : `Query ${number}`,
    role: random.chance(0.3) ? "manager" : "clerk",
    manner: isPoison ? "json" : random.pick(MANNERS),
    runIds: new Set(),
    runId: undefined,
    seen: [],
    early: undefined,
    answer: undefined,
    cancelled: false,
    left: undefined,
    refusal: undefined,
    done: false,
  };
  const process = new Process(record.name);
  const startsIn = random.between(0, 10_000);
  world.after(startsIn, process, () => {
    act(record, deps)
      .catch((error: unknown) => (record.refusal = String(error)))
      .finally(() => (record.done = true));
  });
  return record;
}

async function act(record: ClientRecord, deps: ClientDeps): Promise<void> {
  const { world, random } = deps;
  const principal = caller(KEYS[record.role], [record.role]);
  const cancelWhenGone = record.manner === "abandons";
  const query = {
    query: record.query,
    role: record.role,
    analysisMode: false,
    idempotency: { key: record.name, bodyHash: record.query },
    ...(record.manner === "async" && { respondAsync: true }),
    ...(cancelWhenGone && { cancelWhenGone, resumable: true }),
  };
  const start = (replica: Replica) => replica.core!.runs.start(principal, query);
  const copies = random.chance(0.2) ? [persist(deps, start), persist(deps, start)] : [persist(deps, start)];
  const runs = await Promise.all(copies);
  if (random.chance(0.3)) runs.push(await persist(deps, start));
  const started = runs.filter((one) => one !== undefined);
  for (const { runId } of started) record.runIds.add(runId);
  const run = started.at(-1);
  if (!run) return;
  record.runId = run.runId;
  if (record.manner === "abandons") return await readAndLeave(record, run, deps);
  if (record.manner === "cancels") {
    await world.pass(random.between(50, 8_000));
    const answer = await persist(deps, (replica) => replica.core!.runs.cancel(principal, run.runId));
    record.cancelled = answer !== undefined;
  }
  if (record.manner === "stream") await readAll(record, run, deps);
  record.answer = await answerOf(run, deps);
}

/** Asks again until the run has ended: the first answers may say that it waits. */
async function answerOf(run: RunHandle, deps: ClientDeps): Promise<QueryResponse | undefined> {
  for (let i = 0; i < 400; i++) {
    const waitMs = i === 0 ? 0 : WAIT_MS;
    const answer = await persist(deps, (replica, signal) => replica.core!.runs.result(run, { signal, waitMs }));
    if (answer && answer.code !== "approval_required" && answer.code !== "call_running") return answer;
    await deps.world.pass(2_000);
  }
  return undefined;
}

/** Follows the stream and resumes it after the last event that arrived. */
async function readAll(record: ClientRecord, run: RunHandle, deps: ClientDeps): Promise<void> {
  const { isStored } = deps;
  const most = Number.POSITIVE_INFINITY;
  for (let i = 0; i < TRIES; i++) {
    const last = record.seen.at(-1);
    if (last && /^\{"type":"(finalResponse|error)"/.test(last.body)) return;
    await persist(deps, (replica, signal) => follow(record, run, { replica, signal, most, isStored }));
    await deps.world.pass(500);
  }
}

/** Reads a stream to its end, to `most` events, or until the client leaves. */
async function follow(record: ClientRecord, run: RunHandle, reading: Reading): Promise<true> {
  const { replica, signal, most, cancelWhenGone = false, isStored } = reading;
  const { runs } = replica.core!;
  const stop = new AbortController();
  using _ = runs.attach(run, { cancelWhenGone });
  const after = record.seen.at(-1)?.id ?? 0;
  for await (const events of runs.follow(run, {
    after,
    deltas: true,
    signal: AbortSignal.any([signal, stop.signal]),
  })) {
    // What a killed process would send does not arrive; a client that has left reads no more.
    if (!replica.process.alive || signal.aborted) break;
    for (const { id, body } of events) if (id !== undefined) record.seen.push({ id, body });
    const last = record.seen.at(-1);
    if (last && !((await isStored?.(run.runId, last.id)) ?? true)) record.early ??= last.id;
    if (record.seen.length >= most) stop.abort();
  }
  return true;
}

interface Reading {
  isStored: ClientDeps["isStored"];
  replica: Replica;
  signal: AbortSignal;
  most: number;
  cancelWhenGone?: boolean;
}

/** Reads some events and disconnects for good: the run is to be cancelled. */
async function readAndLeave(record: ClientRecord, run: RunHandle, deps: ClientDeps): Promise<void> {
  const { world, random, isStored } = deps;
  const most = random.below(3);
  const leaves = new AbortController();
  void world.pass(random.between(500, 5_000)).then(() => leaves.abort());
  await persist(deps, async (replica, given) => {
    if (leaves.signal.aborted) return true;
    const left = (record.left = { at: Number.POSITIVE_INFINITY, replica });
    const signal = AbortSignal.any([given, leaves.signal]);
    await follow(record, run, { replica, signal, most, cancelWhenGone: true, isStored });
    left.at = world.now;
    return true;
  });
  if (record.left) record.left.at = Math.min(record.left.at, world.now);
}

type Ask<T> = (replica: Replica, signal: AbortSignal) => Promise<T>;

/** Repeats a request at replicas that serve, until one answers. Undefined when all tries failed. Throws other refusals. */
async function persist<T>({ world, serving, random }: ClientDeps, ask: Ask<T>): Promise<T | undefined> {
  for (let i = 0; i < TRIES; i++) {
    const replicas = serving();
    const replica = replicas.length > 0 ? random.pick(replicas) : undefined;
    const given = replica && (await attempt(replica, { world, ask }));
    if (given?.answer !== undefined) return given.answer;
    await world.pass(random.between(100, 3_000));
  }
  return undefined;
}

/** Undefined if the client should ask again. */
async function attempt<T>(
  replica: Replica,
  { world, ask }: { world: World; ask: Ask<T> },
): Promise<{ answer: T } | undefined> {
  const leaves = new AbortController();
  const late = world.pass(PATIENCE_MS).then(() => "late" as const);
  try {
    const answered = world.in(replica.process, () => ask(replica, leaves.signal)).then((answer) => ({ answer }));
    const first = await Promise.race([answered, replica.gone, late]);
    await world.pass(1);
    return first === "late" ? undefined : first;
  } catch (error) {
    if (isPassing(error)) return undefined;
    throw error;
  } finally {
    world.in(replica.process, () => leaves.abort());
  }
}

const isPassing = (error: unknown): boolean =>
  error instanceof ConnectionLost ||
  error instanceof StoreUnavailable ||
  (error instanceof ServiceError && ["unavailable", "rate_limited", "thread_busy"].includes(error.code));

/** Decides approvals, sometimes twice at the same time. */
export function startApprover(deps: ClientDeps): DecisionRecord[] {
  const { world, random } = deps;
  const decisions: DecisionRecord[] = [];
  const process = new Process("approver");

  async function decide(replica: Replica): Promise<void> {
    const page = await replica.core!.approvals.list(approver, { status: "pending", limit: 20 });
    const approval = page.items.length > 0 ? random.pick(page.items) : undefined;
    if (!approval) return;
    const approved = random.chance(0.7);
    const given = approval.parameters as { item: string; amount: number; ms: number };
    const edited = approved && random.chance(0.3) ? { ...given, amount: given.amount + 100 } : undefined;
    const decision = { approved, as: "manager", ...(edited && { arguments: edited }) };
    await replica.core!.approvals.decide(approver, approval.approvalId, decision);
    decisions.push({ approvalId: approval.approvalId, approved, amount: (edited ?? given).amount });
  }

  async function work(): Promise<never> {
    for (;;) {
      await world.pass(random.between(1_000, 6_000));
      const replicas = serving();
      if (replicas.length === 0) continue;
      for (let i = 0; i < (random.chance(0.2) ? 2 : 1); i++) {
        const replica = random.pick(replicas);
        void Promise.race([world.in(replica.process, () => decide(replica)), replica.gone]).catch((error: unknown) =>
          world.log(replica.process).warn("no decision", { error }),
        );
      }
    }
  }
  const { serving } = deps;
  world.in(process, () => void work());
  return decisions;
}
