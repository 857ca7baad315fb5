import type { JsonObject } from "@patchbay/kit";
import type { z as Zod } from "zod";

/** Tested releases of zod, oldest first, and the package of each. `3.25/v4` is zod 4 in the package of zod 3. */
export const RELEASES = {
  "3.25": "zod3",
  "3.25/v4": "zod3/v4",
  "4.0": "zod40",
  "4.1": "zod41",
  "4.2": "zod42",
  "4.6": "zod",
} as const;

export type Release = keyof typeof RELEASES;

/** A type of zod as the property `a` of an input, and what the model receives for it. */
export interface Row {
  name: string;
  of: (z: typeof Zod) => unknown;
  /** The JSON Schema of `a`, or the message of the refusal. */
  schema: JsonObject | RegExp;
  defs?: JsonObject;
  /** True if the arguments may lack `a`. */
  isOptional?: true;
  /** The first release with the type. The oldest one if absent. */
  since?: Release;
  /** Releases with another JSON Schema, and why. */
  except?: readonly Exception[];
}

interface Exception {
  releases: readonly Release[];
  /** `one` if the owner and this package use one copy of zod. Any number if absent. */
  copies?: "one";
  because: string;
  schema: JsonObject | RegExp;
  isOptional?: true;
  defs?: JsonObject;
}

export const refusedKind = (kind: string) =>
  new RegExp(`^Function "probe": input: "a" is of kind "${kind}", which JSON does not have; `);
