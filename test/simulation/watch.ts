import type { ClientRecord } from "./clients.ts";
import type { Cluster } from "./cluster.ts";
import type { Replica } from "./replica.ts";

/** A replica looks for runs this often: docs/reliability.md. */
const POLL_MS = 1_000;
const LEASE_MS = 15_000;
/** Between two looks, for the store's answers, and for a poll that began before. */
const SLACK_MS = 1_500;
/** A lease is renewed after 5 s, at the next poll. */
const LEAST_LEASE_MS = LEASE_MS - 5_000 - POLL_MS - SLACK_MS;
/** A cancellation that the bus loses is found with the next renewal. */
const CANCEL_MS = 5_000 + POLL_MS + SLACK_MS;
/** The end of a claimed run waits for a store that was unavailable: at most 2 s. */
const END_MS = 2_000 + SLACK_MS;
/** Groups of suspects that crash the process, each survived for a longer time than the one before. */
const QUARANTINE_MS = 120_000;
/** A connection that does not close is closed for silence. */
const NOTICED_MS = 25_000;
/** How long a runtime is away before its detached calls end, and how often replicas look for such calls: docs/guides/long-functions.md. */
const GONE_MS = NOTICED_MS + 300_000 + 10_000 + SLACK_MS;
/** A run without a reader ends after 5 to 6 s, a claimed one after 20 to 21 s. */
const CLAIMED_GRACE_MS = 21_000;

/** An open run, as the store has it. */
interface OpenRun {
  id: string;
  status: string;
  owner: string | null;
  fence: number;
  lease_until: number | null;
  crashes: number;
  cancel_requested: number;
  wake_at: number | null;
}

interface Awaits {
  /** Runs that wait for a decision or a result. */
  pending: ReadonlySet<string>;
  /** When the runtime died whose detached call a run waits for. */
  lostSince: ReadonlyMap<string, number>;
}

const NOTHING: Awaits = { pending: new Set(), lostSince: new Map() };

/** What the watch remembers about an open run. Times are milliseconds of the world. */
interface Known {
  fence: number;
  ownedSince: number;
  /** Since when it has had no owner that lives. */
  freeSince: number | undefined;
  cancelledSince: number | undefined;
  /** Since when nothing has been left to wait for. */
  decidedSince: number | undefined;
}

/**
 * Judges promises about time while the simulation runs: how long leases last, and how soon runs continue, wake up and end. Times count
 * only while a replica serves that no fault affects.
 */
export function createWatch(cluster: Cluster) {
  const { world, replicas, deaths, clients, effects } = cluster;
  const runs = new Map<string, Known>();
  const violations: string[] = [];

  /** Since when no fault affects the replica. */
  const soundSince = ({ process, faults, servesSince }: Replica): number =>
    process.alive
      ? Math.max(servesSince, process.frozenUntil, faults.lostUntil, cluster.diskFullUntil, cluster.steppedAt)
      : Infinity;

  function check(run: OpenRun, { pending, lostSince }: Awaits): void {
    const { now } = world;
    const owner = run.owner === null ? undefined : replicas.find((one) => one.owner === run.owner && one.process.alive);
    const known = note(run, owner, pending.has(run.id));
    const anySince = Math.min(...replicas.map(soundSince));
    const ownerSince = owner ? Math.max(soundSince(owner), known.ownedSince) : Infinity;
    /** Reports what has been so for more than `ms`. */
    const expect = (what: string, since: number, ms: number): void => {
      if (now - since > ms) violations.push(`${run.id}: ${what} for ${Math.round(now - since)} ms`);
    };
    const leaseMs = (run.lease_until ?? 0) - world.wallMs(world.machine);
    if (run.owner !== null && leaseMs > LEASE_MS && cluster.steppedAt === 0)
      violations.push(`${run.id}: has a lease of ${leaseMs} ms`);
    // The answer to a start may be lost with the store: its run has an owner that does not know it.
    const isKnown = !cluster.faults["replica store lost"] && !cluster.faults["store lost"];
    if (isKnown && now - ownerSince > CANCEL_MS && leaseMs < LEAST_LEASE_MS)
      violations.push(`${run.id}: its owner lives, and ${leaseMs} ms are left of its lease`);
    if (known.freeSince !== undefined) {
      const died = run.owner === null ? undefined : deaths.get(run.owner);
      const leftMs = died === undefined ? 0 : LEASE_MS;
      // Without an owner, the lease may have ended just now.
      const endedAt = run.owner === null && run.lease_until ? now + leaseMs : 0;
      const since = Math.max(died ?? known.freeSince, anySince, endedAt);
      if (run.crashes < 2) expect("has no owner", since, leftMs + POLL_MS + SLACK_MS);
      else expect("is in quarantine", since, QUARANTINE_MS);
    }
    if (known.decidedSince !== undefined)
      expect("waits for nothing", Math.max(known.decidedSince, anySince), POLL_MS + SLACK_MS);
    const lost = lostSince.get(run.id);
    if (lost !== undefined && cluster.steppedAt === 0)
      expect("waits for a runtime that was killed", Math.max(lost, anySince), GONE_MS);
    if (isKnown && known.cancelledSince !== undefined && owner) {
      const wasClaimed = known.ownedSince > known.cancelledSince;
      expect("is cancelled", Math.max(known.cancelledSince, ownerSince), wasClaimed ? END_MS : CANCEL_MS);
    }
    const client = clients.find(({ left, done, runIds }) => left && done && runIds.has(run.id));
    if (client?.left && owner) checkAbandoned(client.left, ownerSince, expect);
  }

  function checkAbandoned(
    { at, replica }: NonNullable<ClientRecord["left"]>,
    ownerSince: number,
    expect: (what: string, since: number, ms: number) => void,
  ): void {
    // With another replica than the owner, the count of readers died.
    if (!replica.process.alive || cluster.faults["partition"]) return;
    // A run that lost its lease waits for the lease's end, by a clock that was set back.
    if (cluster.faults["replica clock step"] && replicas.length === 1) return;
    expect(
      "has no reader",
      Math.max(at, ownerSince, ...replicas.map(soundSince)),
      CLAIMED_GRACE_MS + CANCEL_MS + SLACK_MS,
    );
  }

  function note(run: OpenRun, owner: Replica | undefined, isPending: boolean): Known {
    const { now } = world;
    const before = runs.get(run.id);
    const since = (is: boolean, member: "freeSince" | "cancelledSince" | "decidedSince"): number | undefined =>
      is ? (before?.[member] ?? now) : undefined;
    const known = {
      fence: run.fence,
      ownedSince: before?.fence === run.fence ? before.ownedSince : now,
      freeSince: since(run.status === "running" && run.wake_at === null && !owner, "freeSince"),
      cancelledSince: since(run.cancel_requested === 1, "cancelledSince"),
      decidedSince: since(run.status === "waiting" && !isPending, "decidedSince"),
    };
    runs.set(run.id, known);
    if (known.ownedSince === now && run.fence > 1) cluster.claims.push({ runId: run.id, at: now });
    return known;
  }

  const { db } = cluster.store.engine;
  // Compiled once: a simulation looks a hundred times.
  const openRuns = db
    .selectFrom("runs")
    .select(["id", "status", "owner", "fence", "lease_until", "crashes", "cancel_requested", "wake_at"])
    .where("finished_at", "is", null)
    .compile();

  /** What waiting runs wait for. */
  async function awaited(): Promise<Awaits> {
    const now = world.wallMs(world.machine);
    const approvals = db.selectFrom("approvals").select("run_id").where("status", "=", "pending");
    const asked = await approvals.where("expires_at", ">", now).execute();
    const calls = db.selectFrom("calls").select(["run_id", "id", "arrived", "runs_until"]).where("outcome", "is", null);
    const running = await calls.where("runs_until", ">", now).execute();
    const pending = new Set([...asked, ...running].map(({ run_id: id }) => id));
    for (const call of running) if (call.arrived !== null) pending.delete(call.run_id);
    const lostSince = new Map<string, number>();
    for (const { id, run_id: runId } of running) {
      const last = effects.executions.findLast(({ callId }) => callId === id);
      const died = last && deaths.get(last.process.name);
      if (died !== undefined) lostSince.set(runId, died);
    }
    return { pending, lostSince };
  }

  return {
    violations,
    /** Returns the number of open runs. */
    async look(): Promise<number> {
      const { rows: open } = await db.executeQuery(openRuns);
      const waits = open.some(({ status }) => status === "waiting");
      const awaits = waits ? await awaited() : NOTHING;
      for (const run of open) check(run, awaits);
      return open.length;
    },
  };
}
