import type { ConsoleDeps } from "../deps.ts";
import type { ConsoleHandlers } from "../handler.ts";
import type { SignIn } from "../sign-in/sign-in.ts";
import { accessHandlers } from "./access.ts";
import { agentHandlers } from "./agents.ts";
import { analyticsHandlers } from "./analytics.ts";
import { auditHandlers } from "./audit.ts";
import { credentialHandlers } from "./credentials.ts";
import { creditHandlers } from "./credits.ts";
import { functionHandlers } from "./functions.ts";
import { linkHandlers } from "./links.ts";
import { liveHandlers } from "./live.ts";
import { memberHandlers } from "./members.ts";
import { organisationHandlers } from "./organisation.ts";
import { playgroundHandlers } from "./playground.ts";
import { runHandlers } from "./runs.ts";
import { runtimeHandlers } from "./runtimes.ts";
import { sessionHandlers } from "./session.ts";
import { sessionListHandlers } from "./sessions.ts";
import { threadHandlers } from "./threads.ts";
import { trialHandlers } from "./trial.ts";
import { wideningHandlers } from "./widenings.ts";

/** Every handler of the console's interface, by its route. */
export function consoleHandlers(deps: ConsoleDeps, signIn: SignIn): ConsoleHandlers {
  return {
    ...sessionHandlers(deps, signIn),
    ...linkHandlers(deps, signIn),
    ...memberHandlers(deps, signIn),
    ...organisationHandlers(deps),
    ...runHandlers(deps),
    ...threadHandlers(deps),
    ...sessionListHandlers(deps),
    ...analyticsHandlers(deps),
    ...auditHandlers(deps),
    ...creditHandlers(deps),
    ...accessHandlers(deps),
    ...agentHandlers(deps),
    ...credentialHandlers(deps),
    ...functionHandlers(deps),
    ...liveHandlers(deps),
    ...playgroundHandlers(deps),
    ...runtimeHandlers(deps),
    ...trialHandlers(deps),
    ...wideningHandlers(deps),
  };
}
