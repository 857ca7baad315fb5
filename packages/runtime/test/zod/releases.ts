import type { JsonObject } from "@patchbay/kit";
import type { z as Zod } from "zod";
import { defineFunction, type Schema } from "../../src/index.ts";
import { COMPOSED_VALUES } from "./composed-values.ts";
import { type Release, RELEASES, type Row } from "./row.ts";
import { SINGLE_VALUES } from "./single-values.ts";
import { WRAPPED_VALUES } from "./wrapped-values.ts";

const ROWS: readonly Row[] = [...SINGLE_VALUES, ...COMPOSED_VALUES, ...WRAPPED_VALUES];

function knownTo(release: Release): Row[] {
  const names = Object.keys(RELEASES);
  return ROWS.filter(({ since = "3.25" }) => names.indexOf(since) <= names.indexOf(release));
}

/** What the model should receive for each type that the release has. */
export function expectedOf(release: Release, copies: "one" | "two") {
  return Object.fromEntries(
    knownTo(release).map((row) => {
      const exception = row.except?.find((one) => one.releases.includes(release) && (one.copies ?? copies) === copies);
      const { schema, isOptional = row.isOptional === true, defs } = exception ?? row;
      if (schema instanceof RegExp) return [row.name, schema];
      const required = isOptional ? {} : { required: ["a"] };
      return [row.name, { type: "object", properties: { a: schema }, ...required, ...(defs && { $defs: defs }) }];
    }),
  );
}

/** What the model receives for each type that the release has, or the message of the refusal. */
export function writtenBy(release: Release, z: typeof Zod) {
  return Object.fromEntries(
    knownTo(release).map((row) => [row.name, write(z.object({ a: row.of(z) as Zod.ZodType }))]),
  );
}

function write(input: Schema): JsonObject | string {
  const probe = { name: "probe", description: "Probes.", roles: "everyone" as const, handler: () => null };
  try {
    return defineFunction({ ...probe, input }).manifest.inputSchema;
  } catch (error) {
    return (error as Error).message;
  }
}
