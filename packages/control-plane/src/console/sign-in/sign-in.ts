import type { ConsoleDeps } from "../deps.ts";
import { createAttempts, type Attempts } from "./attempts.ts";
import { createKnownBrowsers, type KnownBrowsers } from "./known-browsers.ts";
import { createPasswords, type Passwords } from "./passwords.ts";
import { createSessions, type Sessions } from "./sessions.ts";

/** What signing in and out takes. */
export interface SignIn {
  sessions: Sessions;
  passwords: Passwords;
  attempts: Attempts;
  knownBrowsers: KnownBrowsers;
}

export function createSignIn(deps: ConsoleDeps): SignIn {
  return {
    sessions: createSessions(deps),
    passwords: createPasswords(),
    attempts: createAttempts(deps),
    knownBrowsers: createKnownBrowsers(deps),
  };
}
