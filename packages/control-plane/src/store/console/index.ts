import type { ConsoleStore } from "../../ports/console-store.ts";
import type { Engine } from "../schema.ts";
import { memberStore } from "./members.ts";
import { organisationReads } from "./organisations.ts";
import { signInStore } from "./sign-in.ts";

export function consoleStore(engine: Engine): ConsoleStore {
  return {
    members: memberStore(engine),
    signIn: signInStore(engine),
    organisations: organisationReads(engine),
  };
}
