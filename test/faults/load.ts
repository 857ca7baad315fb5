import { setTimeout as sleep } from "node:timers/promises";
import type { Dice } from "../../examples/retail-desk/data/dice.ts";
import { createClient, type Client, type Ending } from "./client.ts";
import type { Lab } from "./lab.ts";
import type { Plan } from "./plan.ts";
import type { Tenant } from "./tenants.ts";

export interface LoadOptions {
  /** Queries a second, whatever becomes of those before. */
  rate: number;
  dice: Dice;
  /** Time each function takes. Default 20. */
  callMs?: number;
  /** Time the model takes for a turn. Default 20. */
  thinkMs?: number;
  /** Queries on their way at most: a machine that is slower than the rate is not buried. Default 20 s of the rate. */
  atMost?: number;
  /** Share of queries asked as streams. Default 0.7. */
  streams?: number;
}

export interface Load {
  readonly endings: readonly Ending[];
  /** Queries on their way. */
  readonly open: number;
  /** Asks no more, and resolves once each query has ended or was given up. */
  stop(): Promise<readonly Ending[]>;
}

/** Share of the queries that go on with a thread, and of those the share that comes with another at the same time. */
const FOLLOW_UPS = 0.25;
const PAIRS = 0.3;

/** Asks queries of three calls each at a steady rate, of all tenants in turn, streamed or not, on new threads or used ones. */
export function startLoad(lab: Lab, options: LoadOptions): Load {
  const { rate, dice, callMs = 20, thinkMs = 20, streams = 0.7, atMost = 20 * rate } = options;
  const clients = new Map<Tenant, Client>(
    lab.tenants.map((tenant) => [tenant, createClient({ tenant, urls: () => lab.urls, history: lab.history })]),
  );
  const threads = new Map<Tenant, string[]>(lab.tenants.map((tenant) => [tenant, []]));
  const endings: Ending[] = [];
  const open = new Set<Promise<void>>();
  const stopping = new AbortController();
  const prefix = `${process.pid.toString(36)}-${Date.now().toString(36)}`;
  let count = 0;

  function planned(tenant: Tenant): Plan {
    const id = `${tenant.name}.${prefix}.${++count}`;
    const call = (name: "charge" | "fetch_record", part: string) => ({ name, id: `${id}.${part}`, ms: callMs });
    const turns = [[call("charge", "a"), call("fetch_record", "b")], [call("charge", "c")]];
    return { id, thinkMs, turns };
  }

  async function ask(tenant: Tenant, threadId: string | undefined): Promise<string | undefined> {
    const mode = dice.chance(streams) ? "stream" : "json";
    const ending = await clients.get(tenant)!({
      plan: planned(tenant),
      mode,
      ...(threadId !== undefined && { threadId }),
    });
    endings.push(ending);
    return ending.result?.threadId;
  }

  /** A thread in use is not used by others, or a long outage would fill its queue. */
  async function converse(tenant: Tenant): Promise<void> {
    const known = threads.get(tenant)!;
    const used = dice.chance(FOLLOW_UPS) ? known.shift() : undefined;
    const pair = used !== undefined && dice.chance(PAIRS);
    const [threadId] = await Promise.all([ask(tenant, used), ...(pair ? [ask(tenant, used)] : [])]);
    const usable = threadId ?? used;
    if (usable !== undefined && known.length < 50) known.push(usable);
  }

  function begin(tenant: Tenant): void {
    const one: Promise<void> = converse(tenant).finally(() => open.delete(one));
    open.add(one);
  }

  async function arrive(): Promise<void> {
    const began = performance.now();
    for (let index = 0; !stopping.signal.aborted; index++) {
      if (open.size < atMost) begin(lab.tenants[index % lab.tenants.length]!);
      const dueMs = began + ((index + 1) * 1_000) / rate - performance.now();
      if (dueMs > 0) await sleep(dueMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
  }
  const arriving = arrive();

  return {
    endings,
    get open() {
      return open.size;
    },
    async stop() {
      stopping.abort();
      await arriving;
      await Promise.all(open);
      return endings;
    },
  };
}
