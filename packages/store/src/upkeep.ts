import { clearTimer, randomUUID, setInterval } from "@patchbay/kit/time";
import type { Upkeep, UpkeepName } from "@patchbay/engine/ports/store/upkeep";
import { createBudget, meterOf } from "./budget.ts";
import { type Engine, repeat } from "./engine.ts";
import { inMs } from "./moments.ts";
import { affects, is } from "./statement.ts";

/** A silent replica loses its claim after this time. */
const CLAIM_MS = 60_000;
const RENEW_MS = 20_000;

export function upkeep(engine: Engine): Upkeep {
  const owner = randomUUID();
  return {
    budget: (share) => createBudget(meterOf(engine.dialect.used), share),

    async exclusively(name, work) {
      if (!(await claim(engine, name, owner))) return false;
      // Work whose claim is lost meanwhile may run twice, which only costs time.
      const renewing = setInterval(() => void claim(engine, name, owner).catch(() => {}), RENEW_MS).unref();
      try {
        await work();
        return true;
      } finally {
        clearTimer(renewing);
        await leave(engine, name, owner).catch(() => {});
      }
    },
  };
}

/** False while another replica has the claim. */
function claim(engine: Engine, name: UpkeepName, owner: string): Promise<boolean> {
  const { urgent, dialect } = engine;
  const until = inMs(engine, CLAIM_MS);
  const claimed = urgent
    .insertInto("upkeep")
    .values({ name, owner, until })
    .onConflict((conflict) =>
      conflict
        .column("name")
        .doUpdateSet({ owner, until })
        .where((eb) => eb.or([eb("upkeep.owner", "=", owner), eb("upkeep.until", "<", dialect.now)])),
    );
  return repeat(engine, () => affects({ db: urgent }, claimed));
}

async function leave(engine: Engine, name: UpkeepName, owner: string): Promise<void> {
  const own = engine.urgent.updateTable("upkeep").where(is({ name, owner }));
  await repeat(engine, () => own.set({ until: 0 }).execute());
}
