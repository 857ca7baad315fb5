import type { ConsoleStore } from "../../ports/console-store.ts";
import type { Engine } from "../schema.ts";
import { agentReads } from "./agents.ts";
import { analyticsReads } from "./analytics.ts";
import { auditReads } from "./audit.ts";
import { creditReads } from "./credits.ts";
import { credentialReads } from "./credentials.ts";
import { functionReads } from "./functions.ts";
import { liveReads } from "./live.ts";
import { memberStore } from "./members.ts";
import { organisationReads } from "./organisations.ts";
import { runReads } from "./runs.ts";
import { sessionReads } from "./sessions.ts";
import { runtimeReads } from "./runtimes.ts";
import { signInStore } from "./sign-in.ts";
import { threadReads } from "./threads.ts";

/** Lists and sums are read apart from what commits; what a request is checked by is not, since it is short and waited for. */
export function consoleStore(engine: Engine): ConsoleStore {
  const apart: Engine = { ...engine, db: engine.reads };
  return {
    members: memberStore(engine),
    signIn: signInStore(engine),
    organisations: organisationReads(engine),
    runs: runReads(apart),
    threads: threadReads(apart),
    sessions: sessionReads(apart),
    analytics: analyticsReads(apart),
    audit: auditReads(apart),
    credits: creditReads(apart),
    agents: agentReads(apart),
    credentials: credentialReads(apart),
    runtimes: runtimeReads(apart),
    functions: functionReads(apart),
    live: liveReads(engine),
  };
}
