import { createHmac } from "node:crypto";
import { DELIVERY_HEADER, SIGNATURE_HEADER, type WebhookEvent } from "@patchbay/protocol";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Metrics } from "../ports/metrics.ts";
import type { Attempted, ClaimedDelivery, Delivery, WebhookStore } from "../ports/webhooks.ts";
import type { Networks } from "./networks.ts";
import { NotSent, post, type Resolve } from "./post.ts";

const POLL_MS = 1_000;
/** Time of an attempt, from the resolution of the host to the response. */
const ATTEMPT_MS = 5_000;
/** An attempt and the time to store its end. */
const LEASE_MS = 10_000;
/** Deliveries to one receiver at the same time. */
const AT_ONCE = 4;
/** Receivers that this replica sends to at the same time. */
const RECEIVERS = 128;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 4 * 3_600_000;

export interface SenderDeps {
  webhooks: Pick<WebhookStore, "due" | "claim" | "settle">;
  networks: Networks;
  /** Where links in deliveries begin. */
  baseUrl: string;
  clock: Clock;
  log: Log;
  metrics: Pick<Metrics, "webhookAttempted">;
  /** Default: the name servers of the machine. */
  resolve?: Resolve;
}

/**
 * Sends the deliveries that are due, until disposed. Every replica does; each delivery is claimed by one. An attempt that a stop
 * breaks off is repeated when its lease ends.
 */
export function startSender(deps: SenderDeps): AsyncDisposable {
  const { webhooks, clock, log } = deps;
  const stopped = new AbortController();
  const { signal } = stopped;
  const sending = new Map<string, Promise<void>>();
  let after = "";
  let moreIsDue = Promise.withResolvers<void>();

  // A delivery whose end is not stored is sent again when its lease ends.
  const failed = (cause: unknown): void => log.warn("the store of deliveries failed", { cause });

  /** Sends one batch: receivers take turns, and a slow one holds one of the places for the time of an attempt. */
  async function serve(agentId: string): Promise<void> {
    try {
      const claimed = await webhooks.claim(agentId, { limit: AT_ONCE, leaseMs: LEASE_MS });
      await Promise.all(claimed.map((one) => attempt(one, deps, signal).catch(failed)));
      if (claimed.length === AT_ONCE) moreIsDue.resolve();
    } catch (cause) {
      failed(cause);
    } finally {
      sending.delete(agentId);
    }
  }

  async function poll(): Promise<void> {
    const limit = RECEIVERS - sending.size;
    if (limit === 0) return;
    const agents = await webhooks.due({ busy: [...sending.keys()], after, limit });
    const wasInTheMiddle = after !== "";
    after = agents.length === limit ? agents.at(-1)! : "";
    for (const agentId of agents) sending.set(agentId, serve(agentId));
    // The rest of the round: the next one begins with the receivers that were not asked for.
    if (wasInTheMiddle && after === "") await poll();
  }

  async function work(): Promise<void> {
    while (!signal.aborted) {
      await poll().catch(failed);
      const pause = new AbortController();
      const slept = clock.sleep(POLL_MS, { signal: AbortSignal.any([signal, pause.signal]) }).catch(() => {});
      await Promise.race([slept, moreIsDue.promise]);
      pause.abort();
      moreIsDue = Promise.withResolvers();
    }
  }
  const working = work();
  return {
    async [Symbol.asyncDispose]() {
      stopped.abort();
      await working;
      await Promise.all(sending.values());
    },
  };
}

async function attempt({ delivery, round, url, secrets }: ClaimedDelivery, deps: SenderDeps, stop: AbortSignal) {
  const { clock, networks, resolve, metrics, log } = deps;
  const body = JSON.stringify(eventOf(delivery, deps.baseUrl));
  const headers = {
    "Content-Type": "application/json",
    "Content-Length": String(Buffer.byteLength(body)),
    "User-Agent": "Patchbay",
    [DELIVERY_HEADER]: delivery.deliveryId,
    [SIGNATURE_HEADER]: signatureOf(secrets, body, clock.now()),
  };
  const signal = AbortSignal.any([stop, AbortSignal.timeout(ATTEMPT_MS)]);
  const startedAt = performance.now();
  const result = await post(url, { headers, body, networks, signal, ...(resolve && { resolve }) }).then(
    answered,
    (error: unknown) => ({ delivered: false, error: reasonOf(error, signal) }),
  );
  // Whether it arrived is unknown. Its lease ends soon, and another replica or the next process sends it again.
  if (stop.aborted && !result.delivered) return;
  const durationMs = performance.now() - startedAt;
  const status = await deps.webhooks.settle(delivery, { ...result, durationMs, retryInMs: pauseAfter(round) });
  if (status) metrics.webhookAttempted(status === "pending" ? "failed" : status === "failed" ? "given_up" : status);
  if (result.delivered) return;
  const { agentId, deliveryId, attempts } = delivery;
  log[status === "failed" ? "warn" : "info"]("webhook delivery failed", { agentId, deliveryId, attempts, ...result });
}

/**
 * Signs a body with each secret: HMAC-SHA-256 of `SECONDS.BODY`, so that a recorded delivery cannot be sent again later. Receivers
 * accept any of the signatures; `verifyWebhook` of the client does.
 */
function signatureOf(secrets: readonly string[], body: string, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000);
  const signatures = secrets.map((secret) => createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex"));
  return [`t=${seconds}`, ...signatures.map((signature) => `v1=${signature}`)].join(",");
}

function answered(status: number): Pick<Attempted, "delivered" | "status" | "error"> {
  if (status >= 200 && status < 300) return { delivered: true, status };
  const more = status >= 300 && status < 400 ? " Redirects are not followed." : "";
  return { delivered: false, status, error: `The receiver answered ${status}.${more}` };
}

/** Only codes of errors: messages contain addresses, which members must not learn of the operator's network. */
function reasonOf(error: unknown, { aborted }: AbortSignal): string {
  if (error instanceof NotSent) return error.message;
  if (aborted) return `The receiver did not answer within ${ATTEMPT_MS / 1000} s.`;
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
  return `The request failed: ${code}.`;
}

/** Exponential, of random length: deliveries that failed together are not repeated together. */
export function pauseAfter(round: number): number {
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 3 ** (round - 1));
  return longest * (0.5 + Math.random() / 2);
}

/** The body of a delivery, which is the same in each attempt. */
function eventOf({ deliveryId: id, agentId, createdAt, type, data }: Delivery, baseUrl: string): WebhookEvent {
  const agent = `agents/${encodeURIComponent(agentId)}`;
  const links: Record<string, string> = {};
  if ("approvalId" in data) links["approval"] = `${baseUrl}/${agent}/approvals/${data.approvalId}`;
  if ("runId" in data) {
    links["run"] = `${baseUrl}/${agent}/runs/${data.runId}`;
    links["console"] = `${baseUrl}/console/${agent}/runs/${data.runId}`;
  }
  return { id, type, createdAt: new Date(createdAt).toISOString(), agentId, data, links } as WebhookEvent;
}
