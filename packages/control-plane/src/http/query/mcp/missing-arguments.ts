import {
  type ElicitRequestFormParams,
  inputRequired,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { type FunctionManifest, isJsonObject, type JsonObject, type JsonValue, parseJson } from "@patchbay/protocol";
import { asksUser, type McpRequest, REPLY_MS } from "./confirm.ts";
import { openQuestion } from "./elicitation.ts";
import { type Fields, fieldsOf } from "./form.ts";

/** A required argument that a call lacks, and the form for it. */
interface Missing {
  name: string;
  question: ElicitRequestFormParams;
  /** The argument that a filled form gives. */
  valueIn(content: JsonObject): JsonValue | undefined;
}

/**
 * The arguments of a call with those that it lacked, as the client's user gives them; with `result` the user has to be asked first.
 * What the user does not give stays absent, and the runtime refuses the call.
 */
export async function complete(
  request: McpRequest,
  { fn, input }: { fn: FunctionManifest; input: JsonObject },
  ctx: ServerContext,
): Promise<{ input: JsonObject; result?: InputRequiredResult }> {
  const before = givenIn(ctx);
  if (!before) throw unknownState();
  const missing = asksUser(request, ctx) ? missingIn(fn, input) : [];
  const given: JsonObject = {};
  const open: Missing[] = [];
  for (const one of missing) {
    const { name, question } = one;
    const known = before[name];
    const reply = request.ask ? await replyTo(request, question) : ctx.mcpReq.inputResponses?.[name];
    const { action, content } = isJsonObject(reply) ? reply : {};
    const value = action === "accept" && isJsonObject(content) ? one.valueIn(content) : known;
    if (value !== undefined) given[name] = value;
    // The user declined, or filled in nothing: asking again would not help.
    else if (action !== undefined || request.ask) break;
    else open.push(one);
  }
  if (open.length === 0) return { input: { ...input, ...given } };
  const inputRequests = Object.fromEntries(open.map(({ name, question }) => [name, inputRequired.elicit(question)]));
  return { input, result: inputRequired({ requestState: stateOf(given), inputRequests }) };
}

/** The required arguments that are absent. None if no form has one of them: then the client's model corrects its call. */
function missingIn({ name: functionName, inputSchema }: FunctionManifest, input: JsonObject): Missing[] {
  const { properties, required } = inputSchema;
  const missing: Missing[] = [];
  for (const name of Array.isArray(required) ? required : []) {
    if (typeof name !== "string" || Object.hasOwn(input, name)) continue;
    const member = isJsonObject(properties) ? properties[name] : undefined;
    const form = isJsonObject(member) ? formFor(inputSchema, name, member) : undefined;
    if (!form) return [];
    const { description } = member as JsonObject;
    const message = `${functionName} needs ${name}${typeof description === "string" ? `: ${description}` : "."}`;
    missing.push({ name, question: { message, requestedSchema: form.schema }, valueIn: form.valueIn });
  }
  return missing;
}

/** An object is a form of its own, if all its members can be fields. Any other argument is the only field of its form. */
function formFor(inputSchema: JsonObject, name: string, member: JsonObject) {
  const { type, properties, required } = member;
  if (type !== "object" || !isJsonObject(properties)) {
    const fields = fieldsOf(inputSchema, {}, [name]);
    if (!fields[name]) return undefined;
    return { schema: schemaOf(fields, [name]), valueIn: (content: JsonObject) => content[name] };
  }
  const names = Object.keys(properties);
  const fields = fieldsOf(member, {}, names);
  if (names.length === 0 || names.some((one) => !fields[one])) return undefined;
  const needed = (Array.isArray(required) ? required : []).filter((one) => typeof one === "string");
  return {
    schema: schemaOf(fields, needed),
    valueIn: (content: JsonObject): JsonObject =>
      Object.fromEntries(names.flatMap((one) => (Object.hasOwn(content, one) ? [[one, content[one]!]] : []))),
  };
}

const schemaOf = (properties: Fields, required: string[]): ElicitRequestFormParams["requestedSchema"] => ({
  type: "object",
  properties,
  required,
});

/** Puts the question on the stream of the call. Undefined if the client's user does not answer in time. */
async function replyTo(request: McpRequest, params: ElicitRequestFormParams): Promise<JsonValue | undefined> {
  const { promise, resolve } = Promise.withResolvers<JsonValue | undefined>();
  const over = AbortSignal.any([request.gone, request.revoked, AbortSignal.timeout(REPLY_MS)]);
  over.addEventListener("abort", () => resolve(undefined));
  using question = openQuestion(request, async (reply) => {
    resolve(reply);
    return true;
  });
  await request.ask!(question.id, params);
  const reply = await promise;
  request.revoked.throwIfAborted();
  if (request.gone.aborted) throw new ProtocolError(ProtocolErrorCode.InternalError, "The client has disconnected.");
  return reply;
}

const GIVEN = "given:";

/** What the client's user has given so far. Not signed: the client could as well send it as arguments. */
const stateOf = (given: JsonObject): string => `${GIVEN}${Buffer.from(JSON.stringify(given)).toString("base64url")}`;

/** What the client's user gave before: nothing without a state. Undefined for a state of another kind. */
export function givenIn({ mcpReq }: ServerContext): JsonObject | undefined {
  const state: unknown = mcpReq.requestState?.();
  if (state === undefined) return {};
  if (typeof state !== "string" || !state.startsWith(GIVEN)) return undefined;
  const parsed = parseJson(Buffer.from(state.slice(GIVEN.length), "base64url").toString());
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : undefined;
}

export const unknownState = (): ProtocolError =>
  new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    "requestState: is not that of an open question of this call. Make the call without it.",
  );
