import type { CallOutcome } from "@patchbay/protocol";
import { silentLog } from "../log.ts";
import { substituteHandlers, type Service } from "../service.ts";
import { callAs, type TestCall } from "./call-as.ts";

/** Whether a call gets to its handler. */
export interface Decision {
  allowed: boolean;
  /** The rule that refused: `roles`, `unknown`, `context`, `input` or `authorize`. */
  rule: string | undefined;
  outcome: CallOutcome;
}

/** Sends a call through every check; in the handler's place it only notes that it was reached. */
export async function decide(service: Service, call: TestCall): Promise<Decision> {
  let allowed = false;
  const probe = substituteHandlers(service, () => () => {
    allowed = true;
  });
  const outcome = await callAs(probe, { log: silentLog, ...call });
  return { allowed, rule: outcome.ok ? undefined : outcome.rule, outcome };
}
