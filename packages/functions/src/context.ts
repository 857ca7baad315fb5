import type { Fault, JsonObject, PreparedContext } from "@patchbay/protocol";
import { toJson } from "./json.ts";
import { createReference, type Log } from "./log.ts";
import type { Parse, Parsed } from "./schema/parser.ts";

/** How a service reads the context of a query. */
export interface ContextReader {
  parse: Parse | undefined;
  subject: ((context: never) => string | undefined | Promise<string | undefined>) | undefined;
  tellModel: ((context: never) => unknown) | undefined;
}

/** Checks a context; faults name the member as a caller wrote it. */
export async function parseContext(parse: Parse | undefined, context: JsonObject): Promise<Parsed> {
  const parsed = (await parse?.(context)) ?? { ok: true, value: context };
  return parsed.ok ? parsed : { ok: false, faults: parsed.faults.map(fromContextJson) };
}

function fromContextJson({ path, message }: Fault): Fault {
  return { path: path === "" ? "contextJson" : `contextJson.${path}`, message };
}

/** Checks a context, then asks the owner whose data it is about and what of it the model may know. An error of the owner's makes the context unusable: not knowing whose data it is, nothing may be shown. */
export async function prepareContext(reader: ContextReader, context: JsonObject, log: Log): Promise<PreparedContext> {
  try {
    const parsed = await parseContext(reader.parse, context);
    if (!parsed.ok) return parsed;
    // The types of a service tie both to the output of its context schema.
    const known = parsed.value as never;
    const subject = await reader.subject?.(known);
    const told = reader.tellModel === undefined ? {} : { told: toJson(await reader.tellModel(known)) };
    return { ok: true, ...(subject === undefined ? {} : { subject }), ...told };
  } catch (error) {
    const reference = createReference();
    log.error("context could not be prepared", { reference, error });
    return { ok: false, faults: [{ path: "contextJson", message: `could not be read. Reference: ${reference}` }] };
  }
}
