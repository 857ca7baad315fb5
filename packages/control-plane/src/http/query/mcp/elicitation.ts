import { randomUUID } from "node:crypto";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/protocol";
import { MAX_BODY_BYTES, NoResponders, RequestLost } from "../../../ports/bus.ts";
import { invalid, ServiceError } from "../../../ports/service-error.ts";
import { hashJson } from "../../kernel/body.ts";
import type { DoorCaller } from "../caller.ts";
import type { HttpDeps } from "../deps.ts";

export const SESSION_HEADER = "Mcp-Session-Id";
const ELICITS = "elicits-";
/** How long a reply is passed on to the replica with the call. */
const PASS_MS = 5_000;
/** Even escaped in JSON and encoded in UTF-8, this many characters fit into a bus message. */
const MOST_CHARS = MAX_BODY_BYTES / 8;

/** True for the capabilities of a client that can put a form to its user. */
export function elicits(capabilities: unknown): boolean {
  const { elicitation } = isJsonObject(capabilities) ? capabilities : {};
  // Clients that name neither mode can put a form.
  return isJsonObject(elicitation) && (elicitation["form"] !== undefined || elicitation["url"] === undefined);
}

/**
 * The session of a client of the revisions of 2025 that can put a form to its user: only its `initialize` says so, and it repeats
 * the session in each later request. Nothing is stored. A client that makes up a session gets questions, and no right.
 */
export function sessionFor({ method, params }: JsonObject): string | undefined {
  const capabilities = isJsonObject(params) ? params["capabilities"] : undefined;
  return method === "initialize" && elicits(capabilities) ? `${ELICITS}${randomUUID()}` : undefined;
}

export const elicitsIn = (session: string | null | undefined): boolean => session?.startsWith(ELICITS) === true;

/** What distinguishes a caller from all others: also a client token from its key, and one `threadKey` from another. */
export const identityOf = ({ threadScope, threadKey, role, context, principal: { proven } }: DoorCaller) => [
  threadScope,
  threadKey,
  role,
  context,
  proven?.context,
];

interface Asking {
  deps: Pick<HttpDeps, "bus" | "within">;
  caller: DoorCaller;
}

/** A question on the stream of a call, which takes a reply until disposed. */
export interface OpenQuestion extends Disposable {
  /** Id of the request to the client. Only the client knows it. */
  id: string;
  /** Aborted when the client's user does not decide. */
  dismissed: AbortSignal;
}

/** Opens a question. `decide` takes the reply of the client, and returns false if it decides nothing. */
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

/** The reply in a message of a client to a question of the server. An error counts as a reply without a decision. */
export function replyIn({ id, method, result = null }: JsonObject): { id: string; reply: JsonValue } | undefined {
  return method === undefined && typeof id === "string" && UUID.test(id) ? { id, reply: result } : undefined;
}

/** Passes a reply on to the call that asked, at whichever replica it waits. Throws if none waits for it. */
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

/** Another caller does not reply in this one's place, even if it learned the id. */
const senderOf = (caller: DoorCaller): string => hashJson(identityOf(caller));
