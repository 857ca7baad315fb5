import { type FunctionManifest, LIMITS } from "@patchbay/protocol";
import { isJsonObject, type JsonObject } from "@patchbay/kit";
import { DefinitionError, listFaults } from "./errors.ts";
import { toJson } from "./json.ts";
import type { Parse } from "./schema/schema.ts";

/** The manifest members that describe a function to people and clients. They do not change who may call it. */
type Labels = Pick<FunctionManifest, "title" | "tags" | "examples" | "openWorld" | "deprecated">;

/**
 * Checks a function's descriptive options. Throws a `DefinitionError` for a mistake, such as an example that the schema
 * refuses.
 */
export function checkLabels(options: object, parseInput: Parse, where: string): Labels {
  const { title, tags, examples, openWorld, deprecated } = options as Readonly<Record<string, unknown>>;
  const refuse = (text: string): never => {
    throw new DefinitionError(`${where}: ${text}`);
  };
  const label = `a text of 1 to ${LIMITS.labelUnits} characters`;
  if (openWorld !== undefined && typeof openWorld !== "boolean") refuse("openWorld must be true or false.");
  return {
    ...(title !== undefined && { title: isLabel(title) ? title : refuse(`title must be ${label}.`) }),
    ...(tags !== undefined && { tags: checkTags(tags, refuse) }),
    ...(examples !== undefined && { examples: checkExamples(examples, parseInput, refuse) }),
    ...(openWorld === true && { openWorld }),
    ...(deprecated !== undefined && {
      deprecated: isLabel(deprecated)
        ? deprecated
        : refuse(`deprecated must be ${label} that says what to use, such as "use refund_order".`),
    }),
  };
}

function checkTags(tags: unknown, refuse: (text: string) => never): string[] {
  if (!Array.isArray(tags) || !tags.every(isLabel))
    return refuse(`tags must be a list of texts of 1 to ${LIMITS.labelUnits} characters.`);
  const different = [...new Set(tags)];
  if (different.length > LIMITS.tagsPerFunction)
    refuse(`${different.length} tags exceed the limit of ${LIMITS.tagsPerFunction}.`);
  return different;
}

function checkExamples(examples: unknown, parseInput: Parse, refuse: (text: string) => never): JsonObject[] {
  if (!Array.isArray(examples)) return refuse("examples must be a list of arguments.");
  if (examples.length > LIMITS.inputExamples)
    refuse(`${examples.length} examples exceed the limit of ${LIMITS.inputExamples}. Keep those that show most.`);
  return examples.map((declared: unknown, i) => {
    const example = jsonOf(declared);
    if (!isJsonObject(example)) return refuse(`examples[${i}] must be an object of arguments, as JSON.`);
    const sizeBytes = Buffer.byteLength(JSON.stringify(example));
    if (sizeBytes > LIMITS.inputExampleBytes)
      refuse(`examples[${i}] has ${sizeBytes} bytes, which exceed the limit of ${LIMITS.inputExampleBytes}.`);
    const parsed = parseInput(example);
    // A schema with an async refinement decides later, on each call.
    if (parsed instanceof Promise) parsed.catch(() => undefined);
    else if (!parsed.ok) refuse(`the function does not accept examples[${i}]: ${listFaults(parsed.faults)}`);
    return example;
  });
}

function jsonOf(value: unknown): unknown {
  try {
    return toJson(value);
  } catch {
    return undefined;
  }
}

export function isLabel(value: unknown): value is string {
  return typeof value === "string" && value.length > 0 && value.length <= LIMITS.labelUnits;
}
