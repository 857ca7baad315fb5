import { isJsonObject, type JsonObject, present } from "@patchbay/kit";
import { DefinitionError } from "./errors.ts";
import { defineFunction, type FunctionDefinition, type FunctionOptions } from "./function.ts";
import type { CallContext } from "./invocation.ts";
import type { Schema, StandardIssue, StandardSchema } from "./schema/schema.ts";

type Options = FunctionOptions<JsonObject, Schema | undefined, JsonObject>;

/** Options of {@link fromTool}: those of {@link defineFunction}. What the tool states may be left out. */
export interface FromToolOptions extends Partial<Omit<Options, "input" | "roles">>, Pick<Options, "roles"> {}

/** What a tool states. */
interface Stated {
  name?: unknown;
  description?: unknown;
  title?: unknown;
  input: unknown;
  output?: unknown;
  /** Absent for a tool that is only a description. */
  handler?: Options["handler"] | undefined;
}

type Tool = Readonly<Record<string, unknown>>;

/**
 * Defines a function from another library's tool: the AI SDK's (`tool()` in versions 5 to 7), LangChain's, or OpenAI's
 * function JSON with a `handler`. Roles, `authorize` and limits hold as for any other function. Throws `DefinitionError` for
 * anything else.
 *
 * ```ts
 * fromTool(tools.refundOrder, { name: "refund_order", roles: ["support"], effect: "write" });
 * ```
 */
export function fromTool(tool: object, options: FromToolOptions): FunctionDefinition {
  const stated = read(tool as Tool);
  const name = options.name ?? stated.name;
  const where = `fromTool: ${typeof name === "string" ? name : "a tool without a name"}`;
  const { description = describe(stated.description, where), handler = stated.handler } = options;
  if (!handler) throw new DefinitionError(`${where}: the tool runs no code here. Give a handler next to roles.`);
  if ("inputSchema" in tool && (tool as Tool)["needsApproval"] && !options.approval)
    throw new DefinitionError(
      `${where}: the tool has needsApproval. Say who approves, such as approval: { by: ["manager"] }.`,
    );
  const output = stated.output === undefined ? undefined : schemaOf(stated.output, `${where}: output`);
  return defineFunction({
    ...present({ title: stated.title as string | undefined, output }),
    ...options,
    name: name as string,
    description,
    input: schemaOf(stated.input ?? EMPTY, `${where}: input`) as JsonObject,
    handler,
  });
}

const EMPTY: JsonObject = { type: "object", properties: {} };

function read(tool: Tool): Stated {
  const { name, description, title, execute, inputSchema: input, outputSchema: output, schema, invoke } = tool;
  if (input !== undefined) {
    const handler = typeof execute === "function" ? executing(execute as Execute) : undefined;
    return { name, description, title, input, output, handler };
  }
  if (schema !== undefined && typeof invoke === "function") {
    const handler: Options["handler"] = (input, { signal }) => (invoke as Execute).call(tool, input, { signal });
    return { name, description, input: schema, handler };
  }
  // In chat completions, and in responses.
  const declared = isJsonObject(tool["function"]) ? (tool["function"] as Tool) : tool;
  const { parameters, ...more } = declared;
  if (isJsonObject(parameters) || typeof more["name"] === "string")
    return { name: more["name"], description: more["description"], input: parameters ?? undefined };
  throw new DefinitionError(
    `fromTool takes a tool of the AI SDK (with inputSchema), a tool of LangChain (with schema and invoke) or OpenAI's function JSON (with parameters). It was given ${Object.keys(tool).slice(0, 10).join(", ") || "an empty object"}.`,
  );
}

type Execute = (input: unknown, options: object) => unknown;

/** Calls a tool as the AI SDK does, whose versions name the context differently. Of a stream of results, the last one counts. */
const executing =
  (execute: Execute): Options["handler"] =>
  async (input, { callId: toolCallId, signal: abortSignal, context }: CallContext) => {
    const options = { toolCallId, messages: [], abortSignal, context, experimental_context: context };
    let result = await execute(input, options);
    if (typeof result === "object" && result !== null && Symbol.asyncIterator in result)
      for await (const part of result as AsyncIterable<unknown>) result = part;
    return result;
  };

function describe(description: unknown, where: string): string {
  if (typeof description !== "function") return description as string;
  try {
    return (description as (options: object) => string)({ context: {} });
  } catch (cause) {
    throw new DefinitionError(`${where}: its description needs a context. Give a description next to roles.`, {
      cause,
    });
  }
}

interface AiSchema {
  readonly jsonSchema: unknown;
  readonly validate?: (value: unknown) => Validated | Promise<Validated>;
}
type Validated = { success: true; value: unknown } | { success: false; error: Error };

/** A schema that `defineFunction` takes. The AI SDK also has its own, and functions that return one. */
function schemaOf(given: unknown, where: string): Schema {
  if (typeof given === "function" && !("~standard" in given)) return schemaOf((given as () => unknown)(), where);
  if (typeof given !== "object" || given === null || !("jsonSchema" in given) || "~standard" in given)
    return given as Schema;
  const { jsonSchema, validate } = given as AiSchema;
  if (!isJsonObject(jsonSchema) || "then" in jsonSchema)
    throw new DefinitionError(`${where}: its JSON Schema is a promise. Wait for it, and give jsonSchema() the result.`);
  return validate ? validating(jsonSchema, validate) : jsonSchema;
}

function validating(jsonSchema: JsonObject, validate: NonNullable<AiSchema["validate"]>): StandardSchema {
  const written = { input: () => jsonSchema, output: () => jsonSchema };
  const standard = {
    version: 1 as const,
    vendor: "ai",
    jsonSchema: written,
    async validate(value: unknown) {
      const result = await validate(value);
      return result.success ? { value: result.value } : { issues: issuesOf(result.error) };
    },
  };
  return { "~standard": standard };
}

function issuesOf(error: Error): readonly StandardIssue[] {
  const { issues = error.cause } = error as Error & { issues?: unknown };
  return Array.isArray(issues) ? (issues as StandardIssue[]) : [{ message: error.message }];
}
