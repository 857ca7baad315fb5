import type { RunTrace } from "@patchbay/protocol/console";
import { bodyOf as bodyOfSettings, settingsOfRun } from "../playground/settings.ts";

/** What would ask the same again, in a thread of its own. */
export const bodyOf = (run: RunTrace) =>
  bodyOfSettings(settingsOfRun(run), { query: run.fullQuery, role: run.role ?? "", threadId: undefined });
