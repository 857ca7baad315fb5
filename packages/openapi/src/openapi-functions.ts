import { DefinitionError, type FunctionDefinition, type JsonObject } from "@patchbay/functions";
import {
  createSourceLock,
  defaultLog,
  defineForeign,
  dropUnlisted,
  type ForeignFunction,
  foreignName,
  type LeftOut,
  visibleText,
} from "@patchbay/functions/sources";
import { present } from "@patchbay/kit";
import { endpointsOf, readDocument } from "./document.ts";
import { type Operation, readOperation } from "./operation.ts";
import { checkOptions, matching, type OpenApiOptions, type OperationOverride } from "./options.ts";
import { toRequest } from "./request.ts";
import { createSchemas } from "./schemas.ts";
import { send, type Target } from "./send.ts";
import { authorize, baseOf, refuseOtherServer, refuseWithoutAuth } from "./server.ts";
import { stepsOf, withMarks } from "./visible.ts";

/** An API's operations as functions. */
export interface OpenApiFunctions {
  /** The functions, for `defineService`. */
  readonly functions: readonly FunctionDefinition[];
  /** Operations that `roles` names and that are not offered, with the reasons. Without those that differ from the lock file. */
  readonly leftOut: readonly LeftOut[];
  /** Removes the API from those that `patchbay pin` and `patchbay access` find. */
  close(): void;
}

const TERMS = { kind: "API", part: "operation", identity: "its server is" };

/**
 * Reads an OpenAPI document and defines a function for each operation that the owner gives to a role. Roles, `authorize`,
 * approval and limits hold as for any other function, and the arguments are validated before the API receives them.
 * Rejects if the document cannot be read.
 *
 * ```ts
 * const shop = await openapiFunctions({
 *   name: "shop",
 *   document: "shop.openapi.yaml",
 *   roles: { "GET *": ["support", "manager"], refundOrder: ["manager"] },
 *   auth: { bearerAuth: process.env.SHOP_TOKEN },
 *   lock: "tools.lock.json",
 * });
 * export default defineService({ name: "desk", functions: [...shop.functions] });
 * ```
 */
export async function openapiFunctions(options: OpenApiOptions): Promise<OpenApiFunctions> {
  checkOptions(options);
  const { name, roles, override = {} } = options;
  const where = `API "${name}"`;
  const lock = createSourceLock(TERMS, name, options.lock);
  const log = (options.log ?? defaultLog()).child({ api: name });
  const document = await readDocument(options.document, where);
  const base = baseOf(document, options, where);
  const endpoints = endpointsOf(document.root);
  const keys = Object.keys({ ...roles, ...override });
  const missing = keys.filter((key) => !endpoints.some((one) => matching({ [key]: true }, one).length > 0));
  if (missing.length > 0)
    log.warn("the document has no operations that the options name", {
      operations: missing,
      names: endpoints.slice(0, NAMES_SHOWN).map((one) => one.name),
    });

  const write = createSchemas(document.root);
  const unread: LeftOut[] = [];
  const offered = endpoints.flatMap((endpoint) => {
    if (matching(roles, endpoint).length === 0) return [];
    try {
      refuseOtherServer(document.root, endpoint, base);
      return [readOperation(document.root, endpoint, write)];
    } catch (error) {
      unread.push({ name: endpoint.name, reason: error instanceof Error ? error.message : String(error) });
      return [];
    }
  });
  for (const { name: operation, reason } of unread)
    log.warn("the operation of the API cannot be called and is not offered", { operation, reason });
  const accepted = lock.accepted({ server: base, definitions: offered }, log);
  const all = accepted.map((operation) => toFunction(operation, options, base));
  const { functions, leftOut } = defineForeign(all, TERMS, log);
  const close = lock.register(() => ({ server: base, definitions: offered }));
  return { functions, leftOut: [...unread, ...leftOut], close };
}

const NAMES_SHOWN = 20;
const TITLE_UNITS = 200;

function toFunction(operation: Operation, options: OpenApiOptions, base: string): ForeignFunction {
  const { name, method, description, inputSchema, outputSchema } = operation;
  const decided: OperationOverride = Object.assign({}, ...matching(options.override ?? {}, operation));
  const { visibleTo, output, ...override } = decided;
  const where = `API "${options.name}"`;
  if (visibleTo && output)
    throw new DefinitionError(`${where}: ${name}: visibleTo is for the document's schema. Mark the parts of output.`);
  const title = visibleText(operation.title ?? "").slice(0, TITLE_UNITS);
  const stated = {
    name: foreignName(options.name, name),
    description: visibleText(description).trim(),
    ...(title !== "" && { title }),
    ...(operation.deprecated && { deprecated: "the document says that it is deprecated" }),
    effect: method === "GET" ? "read" : method === "DELETE" ? "destructive" : "write",
    idempotent: method !== "POST" && method !== "PATCH",
    // The API's operator may write its texts, answers and errors.
    returns: "untrusted",
    foreign: true,
    ...override,
  } as const;
  const target: Omit<Target, "secrets"> = {
    where,
    operation,
    fetch: options.fetch ?? fetch,
    mayRepeat: stated.effect === "read" || stated.idempotent,
    retries: stated.retries !== undefined,
    hidden: new Set(Object.keys(visibleTo ?? {}).map((path) => stepsOf(path).findLast((step) => step !== "[]") ?? "")),
  };
  return {
    name,
    toOptions(plain) {
      if (!plain) refuseWithoutAuth(operation, options);
      if (!plain && visibleTo && !outputSchema) throw new Error("visibleTo: the document does not describe its answer");
      const described = outputSchema && visibleTo && !plain ? withMarks(outputSchema, visibleTo) : outputSchema;
      return {
        ...stated,
        ...present({ output: output ?? (plain ? undefined : described) }),
        input: plain ? { type: "object" } : inputSchema,
        roles: matching(options.roles, operation).at(-1)!,
        handler: async (input: JsonObject, call) => {
          const request = toRequest(operation, dropUnlisted(inputSchema, input) as JsonObject, base);
          const secrets = await authorize(request, operation, options, call);
          return await send({ ...target, secrets }, request, call);
        },
      };
    },
  };
}
