import { callerIdsOf, type ProvenCaller } from "@patchbay/engine/ports/callers";

/** What the token of a caller proves that has no claims besides its `sub`. */
export const provenCaller = (subject: string, issuer = "https://id.example"): ProvenCaller => ({
  subject,
  ids: callerIdsOf({ issuer, subject }),
  context: {},
  members: [],
});
