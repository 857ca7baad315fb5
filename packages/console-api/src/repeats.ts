import type { JsonValue, Log } from "@patchbay/kit";
import type { ConsoleRoute, ConsoleRouteName, ConsoleRoutes } from "@patchbay/protocol/console";
import type { z } from "zod";
import { AdminError } from "@patchbay/server/accounts/admin-error";
import { hashJson } from "@patchbay/server/kernel/body";
import type { Exchange } from "@patchbay/server/kernel/exchange";
import { keyOf } from "@patchbay/server/query/query-routes";
import type { Clock } from "@patchbay/engine/ports/clock";
import type { RequestKeyStore } from "@patchbay/engine/ports/store/request-keys";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import type { Actor } from "./actors.ts";

/** How long a repetition waits for the first request to end, and between two checks. */
const WAIT_MS = 10_000;
const PAUSE_MS = 50;

/**
 * Handles a POST request once per `Idempotency-Key`. A repetition gets the stored response; if the response has a
 * secret, which is not stored, it gets `conflict` with the id of the existing object. Throws `idempotency_mismatch` for
 * a different request with the key. A refused request frees its key.
 */
export function createRepeats({ keys, clock, log }: { keys: RequestKeyStore; clock: Clock; log: Log }) {
  /** What the key's first request stored, once ended; undefined for the first request. */
  async function earlier(request: Parameters<RequestKeyStore["take"]>[0], signal: AbortSignal) {
    for (let waitedMs = 0; ; waitedMs += PAUSE_MS) {
      const found = await keys.take(request);
      if (!found) return undefined;
      if (!found.sameBody)
        throw new ServiceError("idempotency_mismatch", "This Idempotency-Key was used with another request.");
      if (found.answer !== undefined) return found.answer as unknown as Kept;
      if (waitedMs >= WAIT_MS) throw unknownOutcome();
      await clock.sleep(PAUSE_MS, { signal });
    }
  }

  return async function once(
    exchange: Exchange,
    asked: { name: ConsoleRouteName; route: ConsoleRoute; by: Actor; params: object; body: unknown },
    work: (again: boolean) => Promise<unknown>,
  ): Promise<unknown> {
    const { name, route, by, params, body } = asked;
    const key = name.startsWith("POST ") && route.idempotency === undefined ? keyOf(exchange) : undefined;
    if (key === undefined) return work(false);
    const { orgId, actorId } = by;
    const request = { orgId, actorId, key, bodyHash: hashJson({ name, params, body }) };
    const kept = await earlier(request, exchange.c.req.raw.signal);
    if (kept?.created) throw createdBefore(kept.created);
    if (kept) return "answer" in kept ? kept.answer : work(true);
    let answer: unknown;
    try {
      answer = await work(false);
    } catch (thrown) {
      // After any other error the change may be stored: the key stays, so that no repetition makes it twice.
      if (isRefusal(thrown)) await keys.free(request);
      throw thrown;
    }
    const stored: Kept = keptOf(name, answer);
    await keys.finish(request, stored as unknown as JsonValue).catch((cause: unknown) => {
      log.warn("the response to an Idempotency-Key could not be stored", { requestId: exchange.requestId, cause });
    });
    return answer;
  };
}

/** The stored part of a response. Without a member, a repetition reads the response again. */
interface Kept {
  answer?: unknown;
  /** An id with its name, in place of an answer with a secret. */
  created?: [name: string, id: string];
}

type AnswerOf<Name extends ConsoleRouteName> = ConsoleRoutes[Name]["answer"] extends infer Schema extends z.ZodType
  ? z.output<Schema>
  : never;

/** Routes whose response has a secret, with the id of the created object. */
export const SECRETS: { [Name in ConsoleRouteName]?: (answer: AnswerOf<Name>) => [name: string, id: string] } = {
  "POST /agents": ({ agent }) => ["agentId", agent.agentId],
  "POST /agents/:agent_id/credentials": ({ credential }) => ["credentialId", credential.credentialId],
  "POST /agents/:agent_id/credentials/:credential_id/rotate": ({ credential }) => [
    "credentialId",
    credential.credentialId,
  ],
  "POST /agents/:agent_id/webhook/rotate": ({ webhook }) => ["secret", webhook.hint],
  "POST /members": ({ member }) => ["memberId", member.memberId],
  "POST /members/:member_id/link": ({ member }) => ["memberId", member.memberId],
  "POST /service-tokens": ({ token }) => ["tokenId", token.tokenId],
  "POST /service-tokens/:token_id/rotate": ({ token }) => ["tokenId", token.tokenId],
};

/** A call's arguments are erased with their thread, so no copy is kept. */
const REREAD: ConsoleRouteName = "POST /agents/:agent_id/approvals/:approval_id/decision";

function keptOf(name: ConsoleRouteName, answer: unknown): Kept {
  const created = SECRETS[name] as ((answer: unknown) => [string, string]) | undefined;
  if (created) return { created: created(answer) };
  return name === REREAD ? {} : { answer: answer ?? null };
}

function createdBefore([name, id]: [string, string]): ServiceError {
  return new ServiceError(
    "conflict",
    `The first request with this Idempotency-Key succeeded (${name} ${id}). Its response had a secret, which is shown once and not stored. If you do not have it, replace what was made: send another request with a new key.`,
    { details: [{ path: name, message: id }] },
  );
}

const unknownOutcome = (): ServiceError =>
  new ServiceError(
    "conflict",
    "The first request with this Idempotency-Key has not ended, or its outcome is not known. See whether its change was made before you send it with a new key.",
  );

const isRefusal = (thrown: unknown): boolean =>
  thrown instanceof AdminError ||
  (thrown instanceof ServiceError && thrown.code !== "internal" && thrown.code !== "unavailable");
