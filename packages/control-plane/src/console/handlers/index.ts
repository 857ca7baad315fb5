import type { ConsoleDeps } from "../deps.ts";
import type { ConsoleHandlers } from "../handler.ts";
import type { SignIn } from "../sign-in/sign-in.ts";
import { linkHandlers } from "./links.ts";
import { memberHandlers } from "./members.ts";
import { organisationHandlers } from "./organisation.ts";
import { sessionHandlers } from "./session.ts";

/** Every handler of the console's interface, by its route. */
export function consoleHandlers(deps: ConsoleDeps, signIn: SignIn): Partial<ConsoleHandlers> {
  return {
    ...sessionHandlers(deps, signIn),
    ...linkHandlers(deps, signIn),
    ...memberHandlers(deps, signIn),
    ...organisationHandlers(deps),
  };
}
