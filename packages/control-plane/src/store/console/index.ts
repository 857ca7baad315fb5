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

export function consoleStore(engine: Engine): ConsoleStore {
  return {
    members: memberStore(engine),
    signIn: signInStore(engine),
    organisations: organisationReads(engine),
    runs: runReads(engine),
    threads: threadReads(engine),
    sessions: sessionReads(engine),
    analytics: analyticsReads(engine),
    audit: auditReads(engine),
    credits: creditReads(engine),
    agents: agentReads(engine),
    credentials: credentialReads(engine),
    runtimes: runtimeReads(engine),
    functions: functionReads(engine),
    live: liveReads(engine),
  };
}
