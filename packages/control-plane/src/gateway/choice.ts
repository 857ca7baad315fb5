import { randomUUID } from "node:crypto";
import type { PreparedContext, RuntimeFrame } from "@patchbay/protocol";
import type { Clock } from "../ports/clock.ts";
import type { FunctionGateway } from "../ports/function-gateway.ts";
import { StoreUnavailable } from "../ports/run-store.ts";
import type { RuntimeStore } from "../ports/stores.ts";
import type { Link } from "./link.ts";
import type { Registry } from "./registry.ts";

/** An agent whose runtime was seen this recently is likely to have it back soon. */
const RECENT_MS = 30_000;

/** Finds runtimes for runs and calls, waiting for one that is just reconnecting. */
export interface Choice extends Pick<FunctionGateway, "session" | "assign" | "prepare"> {
  prepared(link: Link, frame: Extract<RuntimeFrame, { type: "prepared" }>): void;
  linkClosed(link: Link): void;
}

export function createChoice(options: {
  registry: Registry;
  store: RuntimeStore;
  clock: Clock;
  /** How long a runtime is waited for. */
  arrivalMs: number;
  /** Ends every wait: a gateway that is closed has no runtimes, which says nothing about the agent. */
  closed: AbortSignal;
}): Choice {
  const { registry, store, clock, arrivalMs, closed } = options;
  const questions = new Map<string, { link: Link; answer(prepared: PreparedContext | undefined): void }>();
  let turn = 0;

  async function awaitLink(
    agentId: string,
    choose: (links: Link[]) => Link | undefined,
    signal: AbortSignal,
  ): Promise<Link | undefined> {
    const find = (): Link | undefined => choose(registry.of(agentId).filter((link) => link.available));
    signal.throwIfAborted();
    closed.throwIfAborted();
    const here = find();
    if (here) return here;
    const recent = await seenRecently(agentId);
    signal.throwIfAborted();
    closed.throwIfAborted();
    return find() ?? (recent ? arrival(agentId, find, signal) : undefined);
  }

  /** A store that is out of reach says nothing against the agent: its runtime is waited for. */
  async function seenRecently(agentId: string): Promise<boolean> {
    try {
      const agoMs = await store.lastSeenAgoMs(agentId);
      return agoMs !== undefined && agoMs < RECENT_MS;
    } catch (error) {
      if (error instanceof StoreUnavailable) return true;
      throw error;
    }
  }

  async function arrival(
    agentId: string,
    find: () => Link | undefined,
    signal: AbortSignal,
  ): Promise<Link | undefined> {
    const arrived = Promise.withResolvers<Link>();
    const done = new AbortController();
    const watch = registry.onArrival(agentId, () => {
      const link = find();
      if (link) arrived.resolve(link);
    });
    try {
      const late = clock.sleep(arrivalMs, { signal: AbortSignal.any([signal, closed, done.signal]) });
      return await Promise.race([arrived.promise, late.then(() => undefined)]);
    } finally {
      watch[Symbol.dispose]();
      done.abort();
    }
  }

  /** One runtime's answer; undefined when its link went or `signal` ended first. */
  function ask(link: Link, input: Parameters<Choice["prepare"]>[2], signal: AbortSignal) {
    const id = randomUUID();
    const { promise, resolve } = Promise.withResolvers<PreparedContext | undefined>();
    const stop = (): void => resolve(undefined);
    signal.addEventListener("abort", stop);
    questions.set(id, { link, answer: resolve });
    link.send({ type: "prepare", id, ...input });
    return promise.finally(() => {
      signal.removeEventListener("abort", stop);
      questions.delete(id);
    });
  }

  return {
    async session(agentId, { signal }) {
      const link = await awaitLink(agentId, (links) => links.at(-1), signal);
      return link && { manifest: link.identity.manifest, manifestHash: link.identity.manifestHash };
    },

    async assign(agentId, manifestHash, functionName, { signal }) {
      const choose = (links: Link[]): Link | undefined => {
        const link =
          leastLoaded(links.filter((link) => link.identity.manifestHash === manifestHash)) ??
          leastLoaded(links.filter((link) => offers(link, functionName)));
        // Noted while choosing: calls of one turn are assigned in one go, before the first of them is awaited.
        if (link) link.turn = ++turn;
        return link;
      };
      return (await awaitLink(agentId, choose, signal))?.identity.instanceId;
    },

    async prepare(agentId, manifestHash, input, { signal }) {
      const late = AbortSignal.timeout(arrivalMs);
      const either = AbortSignal.any([signal, late]);
      const choose = (links: Link[]): Link | undefined =>
        leastLoaded(links.filter((link) => link.identity.manifestHash === manifestHash)) ?? leastLoaded(links);
      try {
        while (!either.aborted) {
          const link = await awaitLink(agentId, choose, either);
          const prepared = link && (await ask(link, input, either));
          if (prepared || !link) return prepared;
        }
      } catch (error) {
        if (!late.aborted) throw error;
      }
      signal.throwIfAborted();
      return undefined;
    },

    prepared(link, { id, prepared }) {
      const question = questions.get(id);
      if (question?.link === link) question.answer(prepared);
    },
    linkClosed(link) {
      for (const question of questions.values()) if (question.link === link) question.answer(undefined);
    },
  };
}

/** Equals take turns. */
function leastLoaded(links: readonly Link[]): Link | undefined {
  let best: Link | undefined;
  for (const link of links)
    if (!best || link.load < best.load || (link.load === best.load && link.turn < best.turn)) best = link;
  return best;
}

function offers(link: Link, functionName: string): boolean {
  return link.identity.manifest.functions.some(({ name }) => name === functionName);
}
