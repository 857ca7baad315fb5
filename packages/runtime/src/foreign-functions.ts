import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "@patchbay/kit";
import { DefinitionError, FunctionError } from "./errors.ts";
import { defineFunction, type FunctionDefinition, type FunctionOptions } from "./function.ts";
import type { Log } from "./log.ts";
import type { Schema } from "./schema/schema.ts";
import type { SourceTerms } from "./source-lock.ts";

/** Options of a function that another party describes. */
export type ForeignOptions = FunctionOptions<JsonObject, Schema | undefined, JsonObject>;

/** The owner's decisions about one function of another party, in place of its statements. */
export type ForeignOverride = Partial<Omit<ForeignOptions, "input" | "roles" | "handler" | "reconcile">>;

/**
 * Checks the options that all sources have. Throws `DefinitionError` for a mistake. The returned function does so unless
 * something holds.
 */
export function checkForeignOptions(kind: string, options: object, known: readonly string[]) {
  const { name, roles } = options as Readonly<Record<string, unknown>>;
  const must = (holds: boolean, text: string): void => {
    if (!holds) throw new DefinitionError(`${kind} ${JSON.stringify(name)}: ${text}`);
  };
  must(
    typeof name === "string" && /^[A-Za-z0-9_-]{1,32}$/.test(name),
    "name must be 1 to 32 of the characters A-Z a-z 0-9 _ -.",
  );
  const unknown = Object.keys(options).filter((option) => !known.includes(option));
  must(unknown.length === 0, `unknown option ${unknown.join(", ")}. The options are: ${known.join(", ")}.`);
  must(
    isJsonObject(roles),
    'roles is missing. Give the roles of each function, such as roles: { read_file: ["support"] }; "*" is every other function.',
  );
  return must;
}

/** A function as another party describes it. */
export interface ForeignFunction {
  /** Its name there. */
  readonly name: string;
  /**
   * Its options with the owner's decisions. `plain`: with an input that has no members, and without an output. Throws for a
   * description that cannot be a function's.
   */
  toOptions(plain: boolean): ForeignOptions;
}

/** Largest definition. A function set has at most 1 MiB, and one tool with a long description must not use it up. */
const DEFINITION_BYTES = 196_608;

/** A function that is not offered. */
export interface LeftOut {
  /** Its name at the other party. */
  readonly name: string;
  readonly reason: string;
}

/** Defines functions. Omits one that cannot be a function: the others, and the owner's own functions, still work. */
export function defineForeign(
  all: readonly ForeignFunction[],
  { kind, part }: Pick<SourceTerms, "kind" | "part">,
  log: Log,
): { functions: FunctionDefinition[]; leftOut: LeftOut[] } {
  const functions = new Map<string, FunctionDefinition>();
  const leftOut: LeftOut[] = [];
  for (const one of all)
    try {
      const definition = defineFunction(one.toOptions(false));
      const { name } = definition.manifest;
      const sizeBytes = Buffer.byteLength(JSON.stringify(definition.manifest));
      if (sizeBytes > DEFINITION_BYTES)
        throw new DefinitionError(
          `its definition has ${sizeBytes} bytes, which exceed the limit of ${DEFINITION_BYTES}`,
        );
      if (functions.has(name))
        throw new DefinitionError(`another ${part} is the function ${name}; name one in override`);
      functions.set(name, definition);
    } catch (error) {
      refuseMistake(one.toOptions(true));
      const reason = error instanceof Error ? error.message : String(error);
      log.warn(`the ${part} of the ${kind} cannot be a function and is not offered`, { [part]: one.name, reason });
      leftOut.push({ name: one.name, reason });
    }
  return { functions: [...functions.values()], leftOut };
}

/** Another author's description must not stop the service. An owner's mistake must: throws if `defineFunction` refuses the rest. */
function refuseMistake(options: ForeignOptions): void {
  // These name members of the input.
  const { cases: _, examples: __, targets, sends: ___, approval, ...rest } = options;
  const { edit: ____, ...decided } = approval ?? {};
  defineFunction({
    ...rest,
    ...(targets === "any" && { targets }),
    ...(approval && { approval: decided as typeof approval }),
  });
}

/** Most characters in a function's name. */
const NAME_UNITS = 64;

/** A function's name: the source's, and its own with `_` for other characters. A long one ends with a hash in place of its rest. */
export function foreignName(source: string, own: string): string {
  const name = `${source}_${own}`.replaceAll(/[^A-Za-z0-9_.-]/g, "_");
  if (name.length <= NAME_UNITS) return name;
  const hash = createHash("sha256").update(own).digest("hex").slice(0, 8);
  return `${name.slice(0, NAME_UNITS - hash.length - 1)}_${hash}`;
}

/**
 * Control characters except line breaks and tabs, Unicode format characters, and HTML comments: a reviewer does not see
 * them, and a model does.
 */
const HIDDEN = /(?![\t\n\r])\p{Cc}|\p{Cf}|<!--[\s\S]*?(?:-->|$)/gu;

/** Another party's text without characters that a person cannot see. */
export const visibleText = (text: string): string => text.replaceAll(HIDDEN, "");

/** Characters from another party's error that the model and the caller receive. */
const ERROR_UNITS = 4096;

/** An error whose text comes from another party. `otherwise`: the message for an empty text. */
export function foreignError(text: string, otherwise: string): FunctionError {
  const shown = visibleText(text).trim();
  return new FunctionError(shown === "" ? otherwise : shown.slice(0, ERROR_UNITS));
}

/** True for an HTTP request that reached no server. */
export function wasNotSent(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"].includes(String((cause as { code?: unknown }).code))) return true;
  return false;
}
