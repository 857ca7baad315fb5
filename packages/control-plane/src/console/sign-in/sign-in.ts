import type { ConsoleDeps } from "../deps.ts";
import { createAttempts, type Attempts } from "./attempts.ts";
import { createPasswords, type Passwords } from "./passwords.ts";
import { createSessions, type Sessions } from "./sessions.ts";

/** What signing in and out takes. */
export interface SignIn {
  sessions: Sessions;
  passwords: Passwords;
  attempts: Attempts;
}

export function createSignIn(deps: ConsoleDeps): SignIn {
  return { sessions: createSessions(deps), passwords: createPasswords(), attempts: createAttempts(deps) };
}
