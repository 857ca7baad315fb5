import type { Engine } from "../store/engine.ts";
import { accessQueries } from "./access/queries.ts";
import { agentQueries, credentialQueries, runtimeQueries } from "./agents/queries.ts";
import { analyticsQueries } from "./analytics/queries.ts";
import { auditQueries } from "./audit/queries.ts";
import { creditQueries } from "./credits/queries.ts";
import { functionQueries } from "./functions/queries.ts";
import { liveQueries } from "./live/queries.ts";
import { organisationQueries } from "./members/queries.ts";
import { runQueries } from "./runs/queries.ts";
import { searchQueries } from "./search/queries.ts";
import { threadQueries } from "./threads/queries.ts";
import { sessionQueries } from "./threads/session-queries.ts";

/** Everything that the console reads beyond the store's own methods. Each query sees one organisation. */
export type ConsoleQueries = ReturnType<typeof createConsoleQueries>;

/** Lists and sums use the store's read connection, so that commits and leases never wait for them. */
export function createConsoleQueries(engine: Engine) {
  const reading: Engine = { ...engine, db: engine.reads };
  return {
    access: accessQueries(reading),
    agents: agentQueries(reading),
    analytics: analyticsQueries(reading),
    audit: auditQueries(reading),
    credentials: credentialQueries(reading),
    credits: creditQueries(reading),
    functions: functionQueries(reading),
    // Short statements: the main connection answers them sooner.
    live: liveQueries(engine),
    organisations: organisationQueries(engine),
    runs: runQueries(reading),
    runtimes: runtimeQueries(reading),
    search: searchQueries(reading),
    sessions: sessionQueries(reading),
    threads: threadQueries(reading),
  };
}
