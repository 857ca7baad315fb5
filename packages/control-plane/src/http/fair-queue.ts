/** For whom a piece of work is done. */
export interface Client {
  key: string;
  /** True of a browser that proved an earlier sign-in: it goes first. */
  known: boolean;
}

/** A client of no standing: an organisation, say, among others. */
export const asStranger = (key: string): Client => ({ key, known: false });

interface Waiting {
  begin: () => void;
  refuse: () => void;
}

/**
 * Does `atOnce` pieces of work at a time. Clients take turns, so that one with many pieces does not delay the others. Beyond
 * `waiting` pieces the client with the most of them is refused one, with the error of `busy`. A known client is refused only when
 * all that wait are known.
 */
export function createFairQueue({
  atOnce,
  waiting: most,
  busy,
}: {
  atOnce: number;
  waiting: number;
  busy: () => Error;
}) {
  const known = new Map<string, Waiting[]>();
  const others = new Map<string, Waiting[]>();
  let running = 0;
  let waiting = 0;

  /** The first piece of the client whose turn it is; the client's next turn is after all others. */
  function next(lines: Map<string, Waiting[]>): Waiting | undefined {
    const [key, line] = lines.entries().next().value ?? [];
    if (key === undefined || line === undefined) return undefined;
    const first = line.shift();
    lines.delete(key);
    if (line.length > 0) lines.set(key, line);
    waiting--;
    return first;
  }

  function makeRoom(client: Client): void {
    const own = others.get(client.key)?.length ?? 0;
    let longest: [string, Waiting[]] = ["", []];
    for (const one of others) if (one[1].length > longest[1].length) longest = one;
    const [key, line] = longest;
    // A client with a single piece is not refused for a stranger that came later.
    if (line.length < (client.known ? 1 : Math.max(2, own + 2))) throw busy();
    waiting--;
    line.pop()?.refuse();
    if (line.length === 0) others.delete(key);
  }

  function place(client: Client): Promise<void> {
    if (waiting >= most) makeRoom(client);
    waiting++;
    const lines = client.known ? known : others;
    const line = lines.get(client.key) ?? [];
    lines.set(client.key, line);
    return new Promise((resolve, reject) => line.push({ begin: resolve, refuse: () => reject(busy()) }));
  }

  return {
    /** Throws what `busy` makes where too many are waiting. */
    async run<T>(client: Client, work: () => Promise<T>): Promise<T> {
      if (running >= atOnce) await place(client);
      else running++;
      try {
        return await work();
      } finally {
        const one = next(known) ?? next(others);
        if (one) one.begin();
        else running--;
      }
    },
  };
}

/** Pieces of work in fair order. */
export type FairQueue = ReturnType<typeof createFairQueue>;
