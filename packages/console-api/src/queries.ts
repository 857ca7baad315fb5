import type { Engine } from "@patchbay/store/engine";
import { readHistory } from "@patchbay/store/runs/history";
import { accessQueries } from "./access/queries.ts";
import { agentQueries, credentialQueries, runtimeQueries } from "./agents/queries.ts";
import { analyticsFigures } from "./analytics/tally.ts";
import { auditItems } from "./audit/queries.ts";
import { creditQueries } from "./credits/queries.ts";
import { functionQueries } from "./functions/queries.ts";
import { versionsOf } from "./live/queries.ts";
import { onEngine } from "./lists.ts";
import { organisationFigures } from "./members/queries.ts";
import { namesOf } from "./names.ts";
import { effectsOf } from "./runs/effects.ts";
import { totalsOf, valuesOf } from "./runs/facts.ts";
import { listRuns, runLog, runParts } from "./runs/queries.ts";
import { find } from "./search/queries.ts";
import { sessionQueries, threadQueries } from "./threads/queries.ts";

/** The console's reads beyond the store's own methods. Each query sees one organisation. */
export type ConsoleQueries = ReturnType<typeof createConsoleQueries>;

/** Lists and sums use the store's read connection, so that commits and leases never wait for them. */
export function createConsoleQueries(engine: Engine) {
  const reading: Engine = { ...engine, db: engine.reads };
  return {
    access: accessQueries(reading),
    agents: agentQueries(reading),
    analytics: { figures: onEngine(reading, analyticsFigures) },
    audit: { list: onEngine(reading, auditItems), names: onEngine(reading, namesOf) },
    credentials: credentialQueries(reading),
    credits: creditQueries(reading),
    functions: functionQueries(reading),
    // Short statements: the main connection answers them sooner.
    live: { versions: onEngine(engine, versionsOf) },
    organisations: { figures: onEngine(engine, organisationFigures) },
    runs: {
      list: onEngine(reading, listRuns),
      totals: onEngine(reading, totalsOf),
      values: onEngine(reading, valuesOf),
      parts: onEngine(reading, runParts),
      effects: onEngine(reading, effectsOf),
      history: onEngine(reading, readHistory),
      log: onEngine(reading, runLog),
    },
    runtimes: runtimeQueries(reading),
    search: { find: onEngine(reading, find) },
    sessions: sessionQueries(reading),
    threads: threadQueries(reading),
  };
}
