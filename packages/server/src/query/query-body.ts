import { type Fault, LIMITS, LlmConfig, LocalQueryRequest, QueryRequest } from "@patchbay/protocol";
import { isJsonObject, type JsonObject, present } from "@patchbay/kit";
import type { z } from "zod";
import { invalid, ServiceError } from "@patchbay/engine/ports/service-error";
import type { Query } from "@patchbay/engine/run/api";

/** A parsed body: the query, and whether its stream includes deltas. */
export interface Asked {
  query: Query;
  deltas: boolean;
}

/** Parses a QueryRequest. The error also lists `otherFaults` from elsewhere in the request. */
export function parseQuery(body: unknown, otherFaults: readonly Fault[] = []): Asked {
  const { query, deltas } = askedBy(parse(QueryRequest, body, otherFaults));
  return { query: { ...query, ...unknownMembers(body, QueryRequest, "llmConfig") }, deltas };
}

/** The query in a parsed QueryRequest. */
export function askedBy(asked: QueryRequest): Asked {
  const { query, contextJson: context, analysisMode = false, llmConfig: llm, includeDeltas = false, ...more } = asked;
  const optional = present({ ...more, context, llm, maxTokens: llm?.maxTokens });
  return { query: { query, analysisMode, ...optional }, deltas: includeDeltas };
}

/** Parses the local variant's body, with the defaults of its reference client. */
export function parseLocalQuery(body: unknown): Asked {
  const { query, role, context, llm_config: llm, supersede, ...asked } = parse(LocalQueryRequest, body, []);
  if (context) requireSmall(context);
  const optional = present({
    role,
    threadId: asked.thread_id,
    sessionId: asked.session_id,
    context,
    llm,
    maxTokens: asked.max_tokens ?? llm?.maxTokens,
    responseSchema: asked.response_schema,
    supersede,
  });
  const defaults = { defaultMaxTokens: LIMITS.localDefaultMaxTokens, defaultRole: "user" };
  const { analysis_mode: analysisMode = false, include_deltas: deltas = false } = asked;
  const unknown = unknownMembers(body, LocalQueryRequest, "llm_config");
  return { query: { query, analysisMode, ...defaults, ...optional, ...unknown }, deltas };
}

const MOST_NAMED = 10;

/** A warning for members of a query that were ignored: its client may rely on them. */
function unknownMembers(body: unknown, { shape }: z.ZodObject, llmConfig: string): Pick<Query, "warnings"> {
  const unknownIn = (value: unknown, known: object): string[] =>
    isJsonObject(value) ? Object.keys(value).filter((name) => !Object.hasOwn(known, name)) : [];
  const ofModel = isJsonObject(body) ? unknownIn(body[llmConfig], LlmConfig.shape) : [];
  const names = [...unknownIn(body, shape), ...ofModel.map((name) => `${llmConfig}.${name}`)];
  if (names.length === 0) return {};
  const named = names.slice(0, MOST_NAMED).map((name) => name.slice(0, LIMITS.labelUnits));
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
  const were = names.length === 1 ? "is not known and was ignored" : "are not known and were ignored";
  return { warnings: [`${named.join(", ")}${more} ${were}`] };
}

/** Parses a body. The error lists all faults, and `otherFaults`. */
export function parse<Schema extends z.ZodType>(
  schema: Schema,
  body: unknown,
  otherFaults: readonly Fault[],
): z.infer<Schema> {
  const parsed = schema.safeParse(body);
  const faults = [...otherFaults, ...(parsed.error?.issues ?? []).map(faultOf)];
  if (faults.length > 0 || !parsed.success) throw invalid(faults);
  return parsed.data;
}

function faultOf(issue: z.core.$ZodIssue): Fault {
  return { path: issue.path.map(String).join("."), message: issue.message };
}

/** Rethrows an error whose faults are in a `QueryRequest`, with the names of another body. */
export function inNames(names: Readonly<Record<string, string>>): (thrown: unknown) => never {
  const named = new RegExp(String.raw`^(Invalid request: )?(${Object.keys(names).join("|")})\b`);
  const renamed = (text: string): string => text.replace(named, (_, intro = "", name: string) => intro + names[name]!);
  return (thrown) => {
    if (!(thrown instanceof ServiceError) || !thrown.details) throw thrown;
    const details = thrown.details.map(({ path, message }) => ({ path: renamed(path), message }));
    throw new ServiceError(thrown.code, renamed(thrown.message), { cause: thrown, details });
  };
}

/** Throws for a context that is too large for a query. */
export function requireSmall(context: JsonObject): void {
  if (Buffer.byteLength(JSON.stringify(context)) > LIMITS.contextBytes)
    throw invalid([{ path: "context", message: `must have at most ${LIMITS.contextBytes} bytes` }]);
}
