import type { ConsoleStore } from "../../ports/console-store.ts";
import type { Engine } from "../schema.ts";
import { analyticsReads } from "./analytics.ts";
import { auditReads } from "./audit.ts";
import { creditReads } from "./credits.ts";
import { memberStore } from "./members.ts";
import { organisationReads } from "./organisations.ts";
import { signInStore } from "./sign-in.ts";

export function consoleStore(engine: Engine): ConsoleStore {
  return {
    members: memberStore(engine),
    signIn: signInStore(engine),
    organisations: organisationReads(engine),
    analytics: analyticsReads(engine),
    audit: auditReads(engine),
    credits: creditReads(engine),
  };
}
