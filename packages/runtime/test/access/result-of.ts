import type { CallOutcome } from "@patchbay/protocol";
import { z } from "zod";
import { defineFunction, defineService, type Schema } from "../../src/index.ts";
import { call } from "../calls.ts";

export const SUPPORT = ["support"];

/** The outcome for a role of a function whose handler returns the result. */
export async function resultFor(role: string | undefined, output: Schema, result: unknown): Promise<CallOutcome> {
  const probe = defineFunction({
    name: "probe",
    description: "Returns what the test gives it.",
    input: z.object({}),
    output,
    roles: "everyone",
    handler: () => result,
  });
  const service = defineService({ name: "desk", roles: ["staff", "support", "admin"], functions: [probe] });
  return call(service, "probe", {}, role === undefined ? {} : { role });
}
