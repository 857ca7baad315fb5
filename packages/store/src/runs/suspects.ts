import { type RawBuilder, sql } from "kysely";
import { QUARANTINE_CLAIMS, type QuarantineStore, SUSPECT_CRASHES } from "@patchbay/engine/ports/quarantine";
import { type RunWhere, take } from "./claim.ts";
import { idBatches } from "../columns.ts";
import { type Engine, repeat } from "../engine.ts";
import { is } from "../statement.ts";

type Dialect = Pick<Engine["dialect"], "now">;

const isSuspect: RunWhere = (eb) =>
  eb.and([eb("runs.status", "=", "running"), eb("runs.crashes", ">=", SUSPECT_CRASHES)]);

/** Suspects and the groups that resume them: about log2(suspects) crashes find the run that crashes its process. */
export function suspects(engine: Engine): QuarantineStore {
  const { urgent } = engine;
  return {
    async claimSuspects({ limit, ...claim }) {
      const next = await urgent
        .selectFrom("runs")
        .select(["claims", "crashes", "quarantine_group", ({ fn }) => fn.countAll<number>().over().as("count")])
        .where(is({ finished_at: null, owner: null, wake_at: null }))
        .where(isSuspect)
        // Runs that crashed on their own are last: each may be innocent, and must not delay the others.
        .orderBy("claims")
        // The fewest crashes: the time that a process must survive grows with them.
        .orderBy("crashes")
        // The smallest group: it is nearest to the run that crashes its process.
        .orderBy(sql`coalesce(quarantine_group, ${sql.lit(Number.MAX_SAFE_INTEGER)})`)
        .limit(1)
        .executeTakeFirst();
      if (!next) return { runs: [], waiting: 0 };
      const { claims, crashes, quarantine_group: crashed } = next;
      const size = crashed === null ? limit : Math.max(1, Math.floor(crashed / 2));
      const grouped = {
        quarantine_group: groupSize,
        claims: sql<number>`claims + case when ${groupSize} = 1 then 1 else 0 end`,
      };
      const runs = await take(engine, { ...claim, limit: size }, grouped, (eb) =>
        eb.and([
          isSuspect(eb),
          eb("runs.claims", "=", claims),
          eb("runs.crashes", "=", crashes),
          eb("runs.quarantine_group", crashed === null ? "is" : "=", crashed),
        ]),
      );
      return { runs, waiting: Math.max(0, next.count - runs.length) };
    },

    async clearSuspects(owner, runIds) {
      for (const ids of idBatches(runIds))
        await repeat(engine, () =>
          urgent.updateTable("runs").set(UNSUSPECTED).where("owner", "=", owner).where("id", "in", ids).execute(),
        );
    },
  };
}

const groupSize = sql<number>`(select count(*) from candidates)`;

/** The state of a run that a process has survived, or released. */
export const UNSUSPECTED = { claims: 0, quarantine_group: null };
/** The state of a run that waits for a decision: it has no ended lease. */
export const PARKED = { ...UNSUSPECTED, owner: null, lease_until: null };

/** What a crash counts for a run in progress: nothing in a larger group, whose next group is half as large. */
export const afterCrash = ({ now }: Dialect) => ({
  crashes: sql<number>`crashes + case when quarantine_group > 1 then 0 else 1 end`,
  crashed_at: now,
});

const HOUR_MS = sql.lit(3_600_000);

/** Forgives one crash per hour that the run has survived. */
export const forgiving = ({ now }: Dialect) => ({
  crashes: sql<number>`crashes - case when crashed_at <= ${now} - ${HOUR_MS} then 1 else 0 end`,
  crashed_at: sql<number | null>`case
    when crashed_at > ${now} - ${HOUR_MS} then crashed_at
    when crashes > 1 then crashed_at + ${HOUR_MS} end`,
});

/** Not resumed again, or past its deadline, excluding a suspect's quarantine, which starts when its last lease ends. */
export const mustEnd =
  ({ now }: Dialect): RunWhere =>
  (eb) => {
    const suspect = eb("runs.crashes", ">=", SUSPECT_CRASHES);
    const since = sql<number>`case when ${suspect} and runs.lease_until > 0 then runs.lease_until else ${now} end`;
    return eb.or([eb("runs.deadline_at", "<=", since), eb.and([suspect, eb("runs.claims", ">=", QUARANTINE_CLAIMS)])]);
  };

/** Runs in quarantine: those that wait to be resumed, and those that their process has not survived yet. */
export const inQuarantine: RawBuilder<number> = sql`sum(case when status = 'running'
  and (quarantine_group is not null or (owner is null and crashes >= ${sql.lit(SUSPECT_CRASHES)})) then 1 else 0 end)`;
