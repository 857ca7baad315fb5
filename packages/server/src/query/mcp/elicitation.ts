import { randomUUID } from "@patchbay/kit/time";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";
import { MAX_BODY_BYTES, NoResponders, RequestLost } from "@patchbay/engine/ports/bus";
import { invalid, ServiceError } from "@patchbay/engine/ports/service-error";
import { hashJson } from "../../kernel/body.ts";
import type { AdapterCaller } from "../caller.ts";
import type { HttpDeps } from "../deps.ts";

export const SESSION_HEADER = "Mcp-Session-Id";
const ELICITS = "elicits-";
/** How long to try to pass a reply to the replica with the call. */
const PASS_MS = 5_000;
/** This many characters fit into a bus message even when escaped in JSON and encoded in UTF-8. */
const MOST_CHARS = MAX_BODY_BYTES / 8;

/** True for the capabilities of a client that can show its user a form. */
export function elicits(capabilities: unknown): boolean {
  const { elicitation } = isJsonObject(capabilities) ? capabilities : {};
  // Clients that name neither mode can show a form.
  return isJsonObject(elicitation) && (elicitation["form"] !== undefined || elicitation["url"] === undefined);
}

/**
 * The session of a 2025-revision client that can show its user a form: only `initialize` states this, and the client
 * repeats the session in each later request. Nothing is stored. A client that invents a session gets questions but no
 * right.
 */
export function sessionFor({ method, params }: JsonObject): string | undefined {
  const capabilities = isJsonObject(params) ? params["capabilities"] : undefined;
  return method === "initialize" && elicits(capabilities) ? `${ELICITS}${randomUUID()}` : undefined;
}

export const elicitsIn = (session: string | null | undefined): boolean => session?.startsWith(ELICITS) === true;

/** What distinguishes a caller from all others, also a client token from its key and one `threadKey` from another. */
export const identityOf = ({ threadScope, threadKey, role, context, principal: { proven } }: AdapterCaller) => [
  threadScope,
  threadKey,
  role,
  context,
  proven?.context,
];

interface Asking {
  deps: Pick<HttpDeps, "bus" | "within">;
  caller: AdapterCaller;
}

/** A question on a call's stream, which accepts a reply until disposed. */
export interface OpenQuestion extends Disposable {
  /** Id of the request to the client, which only the client knows. */
  id: string;
  /** Aborted when the client's user dismisses the question. */
  dismissed: AbortSignal;
}

/** Opens a question. `decide` receives the client's reply, and returns false if it decides nothing. */
export function openQuestion(
  { deps: { bus, within }, caller }: Asking,
  decide: (reply: JsonValue) => Promise<boolean>,
): OpenQuestion {
  const id = randomUUID();
  const dismissal = new AbortController();
  const taking = bus.serve(subjectOf(id), async (body) => {
    if (!isJsonObject(body) || body["from"] !== senderOf(caller)) return false;
    const { reply = null } = body;
    if (!(await within(caller.principal.orgId, () => decide(reply)))) dismissal.abort();
    return true;
  });
  return { id, dismissed: dismissal.signal, [Symbol.dispose]: () => taking[Symbol.dispose]() };
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The reply to a server question in a client's message. An error counts as a reply without a decision. */
export function replyIn({ id, method, result = null }: JsonObject): { id: string; reply: JsonValue } | undefined {
  return method === undefined && typeof id === "string" && UUID.test(id) ? { id, reply: result } : undefined;
}

/** Passes a reply to the call that asked, on any replica. Throws if no call waits for it. */
export async function passReply(
  { deps: { bus }, caller }: Asking,
  { id, reply }: NonNullable<ReturnType<typeof replyIn>>,
): Promise<void> {
  const chars = JSON.stringify(reply).length;
  if (chars > MOST_CHARS) throw invalid([{ path: "result", message: `must have at most ${MOST_CHARS} characters` }]);
  const taken = await bus
    .request(subjectOf(id), { from: senderOf(caller), reply }, { timeoutMs: PASS_MS })
    .catch((error: unknown) => {
      if (error instanceof NoResponders) return false;
      if (error instanceof RequestLost) throw new ServiceError("unavailable", LOST, { cause: error });
      throw error;
    });
  // Not 404, which would end the client's session.
  if (taken !== true) throw invalid([{ path: "id", message: "is not that of an open question of this caller" }]);
}

const LOST = "The replica with the call did not confirm the reply. Make the call again to see whether it is decided.";

const subjectOf = (id: string): string => `question.${id}`;

/** Another caller cannot reply in this one's place, even with the id. */
const senderOf = (caller: AdapterCaller): string => hashJson(identityOf(caller));
