import type { RunSource } from "@patchbay/protocol/console";

/** Where a query came from, in words. */
export const SOURCE_WORDS: Record<RunSource, string> = {
  api: "API",
  local: "local variant",
  playground: "playground",
  trial: "tried by hand",
};
