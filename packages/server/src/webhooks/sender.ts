import { monotonicMs, randomFraction, timeoutSignal } from "@patchbay/kit/time";
import { createHmac } from "node:crypto";
import { DELIVERY_HEADER, SIGNATURE_HEADER, type WebhookEvent } from "@patchbay/protocol";
import { isoTime, type Log, present } from "@patchbay/kit";
import type { Clock } from "@patchbay/engine/ports/clock";
import type { Metrics } from "@patchbay/engine/ports/metrics";
import type { Attempted, ClaimedDelivery, Delivery, WebhookStore } from "@patchbay/engine/ports/store/webhooks";
import { isOutOfFiles, OUT_OF_FILES } from "@patchbay/engine/ports/open-files";
import type { Networks } from "./networks.ts";
import { NotSent, post, type Resolve } from "./post.ts";
import { createTurns, type DueAgent } from "./turns.ts";

const POLL_MS = 1_000;
/** Time limit for an attempt, from resolving the host to the response. */
const ATTEMPT_MS = 5_000;
const LEASE_MS = 10_000;
/** The lease's share for storing the attempt's end. Another replica sends again after the lease. */
const STORE_MS = 4_000;
/** Simultaneous deliveries to one receiver. */
const AT_ONCE = 4;
/** Receivers that this replica sends to simultaneously. */
const RECEIVERS = 128;
const NOT_ACCEPTED =
  "The receiver in a network of the operator did not accept the delivery. The reason is in the log of the control plane.";
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 4 * 3_600_000;

export interface SenderDeps {
  webhooks: Pick<WebhookStore, "due" | "claim" | "settle">;
  networks: Networks;
  /** Base address for links in deliveries. */
  baseUrl: string;
  clock: Clock;
  log: Log;
  metrics: Pick<Metrics, "webhookAttempted">;
  /** Default: the machine's name servers. */
  resolve?: Resolve;
  /** Default: over the network. */
  send?: typeof post;
}

/**
 * Sends due deliveries until disposed. Every replica runs a sender; one of them claims each delivery. An attempt
 * interrupted by a stop is repeated when its lease ends.
 */
export function startSender(deps: SenderDeps): AsyncDisposable {
  const { webhooks, clock, log } = deps;
  const stopped = new AbortController();
  const { signal } = stopped;
  const sending = new Map<string, Promise<void>>();
  const turns = createTurns(RECEIVERS);

  // A delivery whose end is not stored is sent again when its lease ends.
  const failed = (cause: unknown): void => log.warn("the store of deliveries failed", { cause });

  /** Sends one batch. A receiver with more deliveries waits for its next turn. */
  async function serve(due: DueAgent): Promise<void> {
    let isMore = false;
    try {
      const askedAt = monotonicMs();
      const claimed = await webhooks.claim(due.agentId, { limit: AT_ONCE, leaseMs: LEASE_MS });
      isMore = claimed.length === AT_ONCE;
      // The leases may have started right after the request left.
      const leftMs = LEASE_MS - STORE_MS - (monotonicMs() - askedAt);
      const send = (delivery: ClaimedDelivery) =>
        attempt(delivery, deps, { stop: signal, ms: Math.min(ATTEMPT_MS, leftMs) });
      if (leftMs > 0) await Promise.all(claimed.map((delivery) => send(delivery).catch(failed)));
    } catch (cause) {
      failed(cause);
    } finally {
      sending.delete(due.agentId);
      turns.release(due);
      if (isMore) turns.add(due);
      fill();
    }
  }

  function fill(): void {
    if (signal.aborted) return;
    for (let due = turns.take(); due; due = turns.take()) sending.set(due.agentId, serve(due));
  }

  async function work(): Promise<void> {
    while (!signal.aborted) {
      try {
        const agents = await webhooks.due([...sending.keys()]);
        // Some may have had their turn meanwhile.
        for (const due of agents) if (!sending.has(due.agentId)) turns.add(due);
        fill();
      } catch (cause) {
        failed(cause);
      }
      await clock.sleep(POLL_MS, { signal }).catch(() => {});
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

async function attempt(
  { delivery, round, url, secrets }: ClaimedDelivery,
  deps: SenderDeps,
  { stop, ms }: { stop: AbortSignal; ms: number },
) {
  const { clock, networks, resolve, metrics, log, send = post } = deps;
  const body = JSON.stringify(eventOf(delivery, deps.baseUrl));
  const headers = {
    "Content-Type": "application/json",
    "Content-Length": String(Buffer.byteLength(body)),
    "User-Agent": "Patchbay",
    [DELIVERY_HEADER]: delivery.deliveryId,
    [SIGNATURE_HEADER]: signatureOf(secrets, body, clock.now()),
  };
  const signal = AbortSignal.any([stop, timeoutSignal(ms)]);
  const startedAt = monotonicMs();
  let isNamed = false;
  const result: Result = await send(url, {
    headers,
    body,
    networks,
    orgId: delivery.orgId,
    reached: (named) => (isNamed = named),
    signal,
    ...present({ resolve }),
  }).then(answered, (error: unknown) =>
    isOutOfFiles(error)
      ? { delivered: false, unsent: true, error: `Not sent: ${OUT_OF_FILES}.` }
      : { delivered: false, error: reasonOf(error, signal) },
  );
  // Its arrival is unknown. Its lease ends soon, and another replica or the next process sends it again.
  if (stop.aborted && !result.delivered) return;
  const durationMs = monotonicMs() - startedAt;
  const isHidden = isNamed && !result.unsent;
  const shown = isHidden ? await withoutNetwork(result, durationMs, { clock, stop, ms }) : { ...result, durationMs };
  const status = await deps.webhooks.settle(delivery, { ...shown, retryInMs: pauseAfter(round) });
  if (status && !result.unsent)
    metrics.webhookAttempted(status === "pending" ? "failed" : status === "failed" ? "given_up" : status);
  if (result.delivered) return;
  const { agentId, deliveryId, attempts } = delivery;
  const fields = { agentId, deliveryId, attempts, ...result, ms: Math.round(durationMs) };
  log[status === "failed" ? "warn" : "info"]("webhook delivery failed", fields);
}

type Result = Omit<Attempted, "durationMs" | "retryInMs">;

/**
 * What members learn about an attempt in an operator network: all failures have one text, no status, and end after the
 * attempt's time limit. Otherwise their webhooks would reveal which hosts and ports in the network are open.
 */
async function withoutNetwork(
  { delivered, status }: Result,
  durationMs: number,
  { clock, stop, ms }: { clock: Clock; stop: AbortSignal; ms: number },
): Promise<Omit<Attempted, "retryInMs">> {
  if (delivered) return { delivered, ...present({ status }), durationMs: Math.ceil(durationMs / 1_000) * 1_000 };
  await clock.sleep(Math.max(0, ms - durationMs), { signal: stop }).catch(() => {});
  return { delivered, error: NOT_ACCEPTED, durationMs: ATTEMPT_MS };
}

/**
 * Signs a body with each secret: HMAC-SHA-256 of `SECONDS.BODY`, so that a recorded delivery cannot be sent again
 * later. Receivers accept any of the signatures, as the client's `verifyWebhook` does.
 */
function signatureOf(secrets: readonly string[], body: string, nowMs: number): string {
  const seconds = Math.floor(nowMs / 1000);
  const signatures = secrets.map((secret) => createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex"));
  return [`t=${seconds}`, ...signatures.map((signature) => `v1=${signature}`)].join(",");
}

function answered(status: number): Result {
  if (status >= 200 && status < 300) return { delivered: true, status };
  const more = status >= 300 && status < 400 ? " Redirects are not followed." : "";
  return { delivered: false, status, error: `The receiver answered ${status}.${more}` };
}

/** Error codes only: messages contain addresses in the operator's network, which members must not learn. */
function reasonOf(error: unknown, { aborted }: AbortSignal): string {
  if (error instanceof NotSent) return error.message;
  if (aborted) return `The receiver did not answer within ${ATTEMPT_MS / 1000} s.`;
  const code = error instanceof Error && "code" in error ? String(error.code) : "unknown error";
  return `The request failed: ${code}.`;
}

/** Exponential with random variation: deliveries that failed together are not repeated together. */
export function pauseAfter(round: number): number {
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 3 ** (round - 1));
  return longest * (0.5 + randomFraction() / 2);
}

/** A delivery's body, which is the same in each attempt. */
function eventOf({ deliveryId: id, agentId, createdAt, type, data }: Delivery, baseUrl: string): WebhookEvent {
  const agent = `agents/${encodeURIComponent(agentId)}`;
  const links: Record<string, string> = {};
  if ("approvalId" in data) links["approval"] = `${baseUrl}/${agent}/approvals/${data.approvalId}`;
  if ("runId" in data) {
    links["run"] = `${baseUrl}/${agent}/runs/${data.runId}`;
    links["console"] = `${baseUrl}/console/${agent}/runs/${data.runId}`;
  }
  return { id, type, createdAt: isoTime(createdAt), agentId, data, links } as WebhookEvent;
}
