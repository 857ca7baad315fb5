import { monotonicMs, setImmediate } from "@patchbay/kit/time";
/** One client's time per event loop iteration. Afterwards the loop reads other requests before the client continues. */
const SLICE_MS = 3;

/** Ends a turn. Further calls do nothing. */
export type EndTurn = () => void;

interface Client {
  waiting: (() => void)[];
  /** Time used in this iteration's slice. */
  spentMs: number;
}

/**
 * Gives one resource to one caller at a time. Clients, here organisations, take turns, and each gets one time slice per
 * event loop iteration: an organisation with hundreds of open queries cannot starve one with a single query. A client's
 * callers are served in request order.
 */
export function createTurns() {
  /** Clients that wait or have used time in this iteration, the next one first. */
  const clients = new Map<string, Client>();
  const urgent: (() => void)[] = [];
  let taken = false;
  let renewing = false;

  function pass(): void {
    const next = urgent.shift() ?? nextOfClients();
    taken = next !== undefined;
    next?.();
  }

  function nextOfClients(): (() => void) | undefined {
    for (const [name, client] of clients) {
      if (client.waiting.length === 0 || client.spentMs >= SLICE_MS) continue;
      clients.delete(name);
      clients.set(name, client);
      return client.waiting.shift();
    }
    return undefined;
  }

  function renewSlices(): void {
    renewing = false;
    for (const [name, client] of clients) {
      if (client.waiting.length === 0) clients.delete(name);
      else client.spentMs = 0;
    }
    if (clients.size > 0) renewLater();
    if (!taken) pass();
  }

  function renewLater(): void {
    if (renewing) return;
    renewing = true;
    setImmediate(renewSlices);
  }

  function clientOf(name: string): Client {
    const known = clients.get(name);
    if (known) return known;
    const client: Client = { waiting: [], spentMs: 0 };
    clients.set(name, client);
    renewLater();
    return client;
  }

  function begin(client?: Client): EndTurn {
    taken = true;
    const beganAt = monotonicMs();
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      if (client) client.spentMs += monotonicMs() - beganAt;
      pass();
    };
  }

  return {
    /** Resolves at the caller's turn, with the function that ends it. */
    async take(name: string): Promise<EndTurn> {
      const client = clientOf(name);
      if (taken || client.spentMs >= SLICE_MS) await new Promise<void>((resolve) => client.waiting.push(resolve));
      return begin(client);
    },
    /** Takes the next turn, before all clients: for the commit that they wait for. */
    async takeNext(): Promise<EndTurn> {
      if (taken) await new Promise<void>((resolve) => urgent.push(resolve));
      return begin();
    },
  };
}
