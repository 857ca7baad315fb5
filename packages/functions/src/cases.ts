import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/protocol";
import { checkRole } from "./definition-checks.ts";
import { listFaults } from "./admission.ts";
import { DefinitionError } from "./errors.ts";
import { toJson } from "./json.ts";
import type { Parse } from "./schema/parser.ts";

/** A typical call of a function, by which its `authorize` is judged without a model: the owner's own order, somebody else's. */
export interface FunctionCase<Input> {
  /** The arguments, as a model would give them. */
  input: Input;
  /** What the query's contextJson holds; `{}` unless given. */
  context?: JsonObject;
  /** The roles that the case is about; all that may call the function unless given. */
  roles?: readonly string[];
}

/** A case as the access matrix uses it. */
export interface CheckedCase {
  readonly input: JsonValue;
  readonly context: JsonObject;
  readonly roles: readonly string[] | undefined;
}

const MEMBERS = ["input", "context", "roles"];

/**
 * Checks the cases of a function. Arguments that the schema refuses are a mistake of the definition; a schema that answers
 * later (an async refinement) is asked when the matrix is computed.
 */
export function checkCases(cases: object, parseInput: Parse, where: string): ReadonlyMap<string, CheckedCase> {
  return new Map(
    Object.entries(cases).map(([name, one]: [string, unknown]) => {
      const of = `${where}: case "${name}"`;
      if (name === "" || name.length > 64)
        throw new DefinitionError(`${where}: a case is named by 1 to 64 characters.`);
      return [name, checkCase(one, parseInput, of)];
    }),
  );
}

function checkCase(one: unknown, parseInput: Parse, where: string): CheckedCase {
  const fault = (what: string) => new DefinitionError(`${where}: ${what}`);
  if (!isJsonObject(one) || !("input" in one))
    throw fault("a case is an object with input, and context and roles where needed.");
  const { context = {}, roles } = one;
  const unknown = Object.keys(one).filter((member) => !MEMBERS.includes(member));
  if (unknown.length > 0) throw fault(`there is no member ${unknown.join(", ")}. Members are: ${MEMBERS.join(", ")}.`);
  if (!isJsonObject(context)) throw fault("context must be an object, as contextJson is.");
  if (roles !== undefined && !Array.isArray(roles)) throw fault("roles must be a list of roles.");
  let input: JsonValue;
  try {
    input = toJson(one["input"]);
  } catch (cause) {
    throw new DefinitionError(`${where}: input is no JSON: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
  const parsed = parseInput(input);
  if (parsed instanceof Promise) parsed.catch(() => undefined);
  else if (!parsed.ok) throw fault(`the function does not accept its input: ${listFaults(parsed.faults)}`);
  return { input, context, roles: roles?.map((role) => checkRole(role, where)) };
}
