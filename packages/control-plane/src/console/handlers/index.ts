import type { ConsoleDeps } from "../deps.ts";
import type { ConsoleHandlers } from "../handler.ts";
import type { Sessions } from "../sign-in/sessions.ts";
import { sessionHandlers } from "./session.ts";

/** Every handler of the console's interface, by its route. */
export function consoleHandlers(deps: ConsoleDeps, sessions: Sessions): Partial<ConsoleHandlers> {
  return {
    ...sessionHandlers(deps, sessions),
  };
}
