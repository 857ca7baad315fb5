/** A client whose work waits in a queue. */
export interface Client {
  key: string;
  /** True for a browser that proved an earlier sign-in: its work goes first. */
  known: boolean;
}

/** A client without priority, for example an organisation. */
export const asStranger = (key: string): Client => ({ key, known: false });

interface Waiting {
  begin: () => void;
  refuse: () => void;
}

interface QueueOptions {
  concurrent: number;
  waiting: number;
  busy: () => Error;
}

/**
 * Runs up to `concurrent` jobs at a time. Clients take turns, so that one with many jobs does not delay the others.
 * When more than `waiting` jobs wait, the client with the most loses one, which fails with the `busy` error. A known
 * client loses a job only when all waiting clients are known.
 */
export function createFairQueue({ concurrent, waiting: capacity, busy }: QueueOptions) {
  const known = new Map<string, Waiting[]>();
  const others = new Map<string, Waiting[]>();
  let running = 0;
  let waiting = 0;

  /** The first job from the client whose turn it is. The client's next turn comes after all others. */
  function next(queues: Map<string, Waiting[]>): Waiting | undefined {
    const [key, queue] = queues.entries().next().value ?? [];
    if (key === undefined || queue === undefined) return undefined;
    const first = queue.shift();
    queues.delete(key);
    if (queue.length > 0) queues.set(key, queue);
    waiting--;
    return first;
  }

  function makeRoom(client: Client): void {
    const own = others.get(client.key)?.length ?? 0;
    let longest: [string, Waiting[]] = ["", []];
    for (const one of others) if (one[1].length > longest[1].length) longest = one;
    const [key, queue] = longest;
    // A client with a single job does not lose it to a later stranger.
    if (queue.length < (client.known ? 1 : Math.max(2, own + 2))) throw busy();
    waiting--;
    queue.pop()?.refuse();
    if (queue.length === 0) others.delete(key);
  }

  function enqueue(client: Client): Promise<void> {
    if (waiting >= capacity) makeRoom(client);
    waiting++;
    const queues = client.known ? known : others;
    const queue = queues.get(client.key) ?? [];
    queues.set(client.key, queue);
    return new Promise((resolve, reject) => queue.push({ begin: resolve, refuse: () => reject(busy()) }));
  }

  return {
    /** Throws the `busy` error when too many jobs wait. */
    async run<T>(client: Client, work: () => Promise<T>): Promise<T> {
      if (running >= concurrent) await enqueue(client);
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

/** Runs jobs in fair order. */
export type FairQueue = ReturnType<typeof createFairQueue>;
