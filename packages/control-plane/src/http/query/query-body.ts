import { LIMITS, LocalQueryRequest, QueryRequest, type Fault, type JsonObject, present } from "@patchbay/protocol";
import type { z } from "zod";
import { invalid } from "../../ports/service-error.ts";
import type { Query } from "../../run/api.ts";

/** A parsed body: the query, and whether its stream includes deltas. */
export interface Asked {
  query: Query;
  deltas: boolean;
}

/** Parses a QueryRequest. The error also lists `otherFaults`, which were found elsewhere in the request. */
export function parseQuery(body: unknown, otherFaults: readonly Fault[] = []): Asked {
  return askedBy(parse(QueryRequest, body, otherFaults));
}

/** The query of a parsed QueryRequest. */
export function askedBy(asked: QueryRequest): Asked {
  const {
    query,
    threadId,
    sessionId,
    role,
    contextJson,
    analysisMode = false,
    llmConfig,
    responseSchema,
    supersede,
  } = asked;
  return {
    query: {
      query,
      analysisMode,
      ...present({
        threadId,
        sessionId,
        role,
        context: contextJson,
        llm: llmConfig,
        maxTokens: llmConfig?.maxTokens,
        responseSchema,
        supersede,
      }),
    },
    deltas: asked.includeDeltas ?? false,
  };
}

/** Parses the body of the local variant, with the defaults of its reference client. */
export function parseLocalQuery(body: unknown): Asked {
  const asked = parse(LocalQueryRequest, body, []);
  const {
    query,
    thread_id,
    session_id,
    role,
    context,
    analysis_mode = false,
    llm_config,
    response_schema,
    supersede,
  } = asked;
  const maxTokens = asked.max_tokens ?? llm_config?.maxTokens;
  if (context) requireSmall(context);
  return {
    query: {
      query,
      analysisMode: analysis_mode,
      defaultMaxTokens: LIMITS.localDefaultMaxTokens,
      defaultRole: "user",
      ...present({
        role,
        threadId: thread_id,
        sessionId: session_id,
        context,
        llm: llm_config,
        maxTokens,
        responseSchema: response_schema,
        supersede,
      }),
    },
    deltas: asked.include_deltas ?? false,
  };
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

function requireSmall(context: JsonObject): void {
  if (Buffer.byteLength(JSON.stringify(context)) > LIMITS.contextBytes)
    throw invalid([{ path: "context", message: `must have at most ${LIMITS.contextBytes} bytes` }]);
}
