import type { CallOutcome, JsonValue } from "@patchbay/protocol";
import type { Bus } from "../ports/bus.ts";
import { HolderNews, replicaSubject } from "./messages.ts";
import type { PendingCall } from "./pending-call.ts";

/** Hears what the holders of this replica's calls tell of them. Anything of it may be late, repeated or missing. */
export function hearHolders(options: {
  bus: Bus;
  replicaId: string;
  pending(callId: string): PendingCall | undefined;
  /** What the store has of the call. Never rejects. */
  arrived(callId: string): Promise<CallOutcome | undefined>;
}): Disposable {
  const { bus, replicaId, pending, arrived } = options;

  async function fetch(call: PendingCall): Promise<void> {
    const outcome = await arrived(call.order.callId);
    if (outcome) call.settle({ kind: "outcome", outcome });
  }

  function hear(call: PendingCall, news: HolderNews): void {
    if (news.type === "progress") return call.onProgress?.(news.data);
    if (news.type === "arrived") {
      if (news.outcome) call.settle({ kind: "outcome", outcome: news.outcome });
      else void fetch(call);
      return;
    }
    if (news.attempt !== call.order.attempt) return;
    if (news.type === "sent") call.sentElsewhere(news.sentAt);
    else if (news.type === "state") call.hear(news.attempt, news.state);
    else if (news.never) call.turnedAway();
    else if (call.isElsewhere) call.lose();
  }

  return bus.subscribe(replicaSubject(replicaId), (body: JsonValue) => {
    const news = HolderNews.safeParse(body);
    const call = news.success ? pending(news.data.callId) : undefined;
    if (news.success && call) hear(call, news.data);
  });
}
