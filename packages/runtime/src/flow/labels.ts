import type { ResultLabels } from "@patchbay/protocol";
import { type JsonValue, present } from "@patchbay/kit";
import { createLabel } from "../redaction/protection.ts";
import { marked } from "../redaction/visible-to.ts";
import type { Schema } from "../schema/schema.ts";

const UNTRUSTED = "x-untrusted";
const SECRET = "x-secret";

/**
 * Marks a part in an output schema that strangers can write, such as the body of a mail. From such a value on, the
 * service's `flows` decide where calls may act. Works as {@link visibleTo} does; the keyword in raw JSON Schema is
 * `x-untrusted: true`.
 */
export const untrusted = <S extends Schema>(schema: S): S => labelled(schema, UNTRUSTED, "untrusted");

/**
 * Marks a part in an output schema that must not leave your systems: after such a value, the service's `flows` let no
 * call with `sends` run without a person. The keyword in raw JSON Schema is `x-secret: true`.
 */
export const secret = <S extends Schema>(schema: S): S => labelled(schema, SECRET, "secret");

const labelled = <S extends Schema>(schema: S, keyword: string, name: string): S =>
  marked(schema, keyword, { in: name, with: () => true });

/** What an output schema says about results. */
export interface Labels {
  /** For the manifest. */
  readonly rules: { untrusted?: string[]; secret?: string[] };
  of(value: JsonValue): ResultLabels;
}

/** Reads an output schema's labels. Undefined without any. */
export function createLabels(schema: Schema, where: string): Labels | undefined {
  const [strange, hidden] = [createLabel(UNTRUSTED, schema, where), createLabel(SECRET, schema, where)];
  if (!strange && !hidden) return undefined;
  const listed = (paths: readonly string[] | undefined) => paths && [...paths];
  return {
    rules: present({
      untrusted: strange && (listed(strange.paths) ?? ["$"]),
      secret: hidden && (listed(hidden.paths) ?? ["$"]),
    }),
    of: (value) => present({ untrusted: some(strange?.labelled(value)), secret: some(hidden?.labelled(value)) }),
  };
}

const some = (paths: string[] | undefined) => (paths && paths.length > 0 ? paths : undefined);
