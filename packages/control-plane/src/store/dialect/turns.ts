/** Time that one client gets in an iteration of the event loop, so that what arrives for others is taken in between. */
const SLICE_MS = 3;

/** Ends a turn; a second call does nothing. */
export type EndTurn = () => void;

interface Client {
  waiting: (() => void)[];
  /** Of its slice in this iteration. */
  spentMs: number;
}

/**
 * Gives one thing to one caller at a time. Clients take turns, and each has a slice of every iteration of the event loop, so that
 * one with many callers does not delay the others. The callers of a client come in the order in which they asked.
 */
export function createTurns() {
  /** Those that wait or have spent time in this iteration; the one whose turn is next comes first. */
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
    const beganAt = performance.now();
    let over = false;
    return () => {
      if (over) return;
      over = true;
      if (client) client.spentMs += performance.now() - beganAt;
      pass();
    };
  }

  return {
    /** Resolves when it is the caller's turn, with what ends the turn. */
    async take(name: string): Promise<EndTurn> {
      const client = clientOf(name);
      if (taken || client.spentMs >= SLICE_MS) await new Promise<void>((resolve) => client.waiting.push(resolve));
      return begin(client);
    },
    /** Takes the next turn, before every client. */
    async takeNext(): Promise<EndTurn> {
      if (taken) await new Promise<void>((resolve) => urgent.push(resolve));
      return begin();
    },
  };
}
