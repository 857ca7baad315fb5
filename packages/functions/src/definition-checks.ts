import { Effect, FUNCTION_NAME, LIMITS, type Roles } from "@patchbay/protocol";
import { DefinitionError } from "./errors.ts";
import { isSchema } from "./schema/schema.ts";

const FUNCTION_MEMBERS = [
  "name",
  "description",
  "input",
  "output",
  "roles",
  "authorize",
  "cases",
  "timeoutMs",
  "idempotent",
  "effect",
  "handler",
];
const SERVICE_MEMBERS = [
  "name",
  "roles",
  "defaultRole",
  "context",
  "subject",
  "tellModel",
  "beforeQuery",
  "beforeAnswer",
  "instructions",
  "functions",
];

type Options = Readonly<Record<string, unknown>>;

/** Checks what types cannot: JavaScript owners, casts, values computed at run time. Returns how messages name the function. */
export function checkFunctionOptions(options: object): string {
  const { name, description, input, output, authorize, cases, timeoutMs, idempotent, effect, handler } =
    options as Options;
  if (typeof name !== "string" || !FUNCTION_NAME.test(name))
    throw new DefinitionError(
      `A function cannot be named ${JSON.stringify(name)}: names have 1 to 64 of the characters A-Z a-z 0-9 _ . -`,
    );
  const where = `Function "${name}"`;
  // A misspelt `authorize` would leave the function open to its whole role list.
  refuseUnknownMembers(options, FUNCTION_MEMBERS, where);
  const must = (holds: boolean, text: string) => {
    if (!holds) throw new DefinitionError(`${where}: ${text}`);
  };
  must(isText(description), "description is missing; the model chooses functions by it.");
  must(isSchema(input), "input must be a schema; a function without arguments takes z.object({}).");
  must(output === undefined || isSchema(output), "output must be a schema, or be left out.");
  must(authorize === undefined || typeof authorize === "function", "authorize must be a function, or be left out.");
  must(
    cases === undefined || (typeof cases === "object" && cases !== null && !Array.isArray(cases)),
    "cases must be an object of cases by name, or be left out.",
  );
  must(typeof handler === "function", "handler must be a function.");
  must(idempotent === undefined || typeof idempotent === "boolean", "idempotent must be true or false.");
  must(
    effect === undefined || Effect.safeParse(effect).success,
    `effect must be one of ${Effect.options.map((option) => `"${option}"`).join(", ")}.`,
  );
  must(
    timeoutMs === undefined || isTimeout(timeoutMs),
    `timeoutMs must be a whole number from 1 to ${LIMITS.functionTimeoutMaxMs}; it is ${String(timeoutMs)}.`,
  );
  return where;
}

/** Roles as the manifest carries them; a copy, so later changes to the owner's list change nothing. */
export function checkRoles(roles: unknown, where: string): Roles {
  if (roles === "everyone") return roles;
  if (!Array.isArray(roles))
    throw new DefinitionError(
      `${where}: roles is missing. Say who may call it: roles: ["support", "admin"], or roles: "everyone".`,
    );
  if (roles.length === 0)
    throw new DefinitionError(
      `${where}: roles is empty, so nobody may call it. Name a role, or leave the function out.`,
    );
  const checked = roles.map((role: unknown) => checkRole(role, where));
  if (checked.includes("everyone"))
    throw new DefinitionError(
      `${where}: "everyone" in a list would be a role of that name. Write roles: "everyone" to open it to all.`,
    );
  return [...new Set(checked)];
}

export function checkRole(role: unknown, where: string): string {
  if (isText(role) && role.length <= LIMITS.labelUnits) return role;
  throw new DefinitionError(
    `${where}: a role is a text of 1 to ${LIMITS.labelUnits} characters; ${JSON.stringify(role)} is none.`,
  );
}

/** Checks the service's own members, without its functions. Returns how messages name the service. */
export function checkServiceOptions(options: object): string {
  const { name, context, subject, tellModel, beforeQuery, beforeAnswer, instructions, functions } = options as Options;
  if (!isText(name)) throw new DefinitionError(`A service needs a name of 1 to ${LIMITS.labelUnits} characters.`);
  if (name.length > LIMITS.labelUnits)
    throw new DefinitionError(
      `A service name of ${name.length} characters exceeds the limit of ${LIMITS.labelUnits}. Shorten it.`,
    );
  const where = `Service "${name}"`;
  refuseUnknownMembers(options, SERVICE_MEMBERS, where);
  const must = (holds: boolean, text: string) => {
    if (!holds) throw new DefinitionError(`${where}: ${text}`);
  };
  must(context === undefined || isSchema(context), "context must be a schema, or be left out.");
  must(subject === undefined || typeof subject === "function", "subject must be a function, or be left out.");
  must(tellModel === undefined || typeof tellModel === "function", "tellModel must be a function, or be left out.");
  must(
    beforeQuery === undefined || typeof beforeQuery === "function",
    "beforeQuery must be a function, or be left out.",
  );
  must(
    beforeAnswer === undefined || typeof beforeAnswer === "function",
    "beforeAnswer must be a function, or be left out.",
  );
  must(instructions === undefined || typeof instructions === "string", "instructions must be a text, or be left out.");
  must(Array.isArray(functions), "functions must be a list of what defineFunction returned.");
  return where;
}

function refuseUnknownMembers(options: object, known: readonly string[], where: string): void {
  const unknown = Object.keys(options).filter((member) => !known.includes(member));
  if (unknown.length > 0)
    throw new DefinitionError(`${where}: there is no member ${unknown.join(", ")}. Members are: ${known.join(", ")}.`);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length > 0;
}

function isTimeout(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= LIMITS.functionTimeoutMaxMs;
}
