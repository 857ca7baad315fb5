import type { JsonObject } from "@patchbay/protocol";

/** What the token of a caller proved. */
export interface ProvenCaller {
  /** The token's `sub`. */
  subject: string;
  /** The roles of its role claim, none without the claim; undefined if the server reads no roles from tokens. */
  roles?: readonly string[];
  /** The members of the context that its claims state. */
  context: JsonObject;
  /** Members of the context that only claims can state, also those that this token lacks. */
  members: readonly string[];
}
