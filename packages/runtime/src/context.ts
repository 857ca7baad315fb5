import type { CallerIdentity, Fault, PreparedContext } from "@patchbay/protocol";
import type { JsonObject } from "@patchbay/kit";
import { toJson } from "./json.ts";
import { createReference, type Log } from "./log.ts";
import type { Parse, Parsed } from "./schema/schema.ts";

/** The query whose subject is asked for. */
export interface SubjectQuery {
  /** What a token proved about its caller. Undefined without a token. */
  readonly caller: CallerIdentity | undefined;
}

/** A query whose context is prepared. */
export interface ContextQuery {
  context: JsonObject;
  /** What a token proved about its caller. */
  caller?: CallerIdentity;
}

/** A service's functions that use a query's context. */
export interface ContextReader {
  parse: Parse | undefined;
  subject: ((context: never, query: SubjectQuery) => string | undefined | Promise<string | undefined>) | undefined;
  modelContext: ((context: never) => unknown) | undefined;
}

/** Checks a context. Fault paths begin with `contextJson`, as callers know it. */
export async function parseContext(parse: Parse | undefined, context: JsonObject): Promise<Parsed> {
  const parsed = (await parse?.(context)) ?? { ok: true, value: context };
  return parsed.ok ? parsed : { ok: false, faults: parsed.faults.map(fromContextJson) };
}

function fromContextJson({ path, message }: Fault): Fault {
  return { path: path === "" ? "contextJson" : `contextJson.${path}`, message };
}

/**
 * Checks a context, then asks the owner for the subject and for the model's part. An error in the owner's code makes
 * the context invalid, because without a subject the control plane could show another subject's history.
 */
export async function prepareContext(
  reader: ContextReader,
  { context, caller }: ContextQuery,
  log: Log,
): Promise<PreparedContext> {
  try {
    const parsed = await parseContext(reader.parse, context);
    if (!parsed.ok) return parsed;
    // The `defineService` types make both functions accept the context schema's output.
    const known = parsed.value as never;
    const subject = await reader.subject?.(known, { caller });
    const shown = reader.modelContext === undefined ? {} : { modelContext: toJson(await reader.modelContext(known)) };
    return { ok: true, ...(subject === undefined ? {} : { subject }), ...shown };
  } catch (error) {
    const reference = createReference();
    log.error("context could not be prepared", { reference, error });
    return { ok: false, faults: [{ path: "contextJson", message: `could not be read. Reference: ${reference}` }] };
  }
}
