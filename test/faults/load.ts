import { setTimeout as sleep } from "node:timers/promises";
import type { Dice } from "../../examples/retail-desk/data/dice.ts";
import { createClient, type Client, type Ending } from "./client.ts";
import type { Lab } from "./lab.ts";
import type { Plan } from "./plan.ts";
import type { Tenant } from "./tenants.ts";

export interface LoadOptions {
  /** Queries per second, independent of the answers. */
  rate: number;
  dice: Dice;
  /** Duration of each function. Default 20. */
  callMs?: number;
  /** Duration of each model turn. Default 20. */
  thinkMs?: number;
  /** Maximum number of open queries, for machines that are slower than the rate. Default: 20 s of the rate. */
  atMost?: number;
  /** Share of streamed queries. Default 0.7. */
  streams?: number;
  /** As in `ClientOptions`. */
  headersMs?: number;
}

export interface Load {
  readonly endings: readonly Ending[];
  /** Open queries. */
  readonly open: number;
  /** Sends no further queries, and resolves once each query has ended or its client gave up. */
  stop(): Promise<readonly Ending[]>;
}

/** Share of the queries that continue a thread, and of those the share sent together with another one. */
const FOLLOW_UPS = 0.25;
const PAIRS = 0.3;

/** Sends queries with three calls each at a steady rate, for all tenants in turn, streamed or not, on new or used threads. */
export function startLoad(lab: Lab, options: LoadOptions): Load {
  const { rate, dice, callMs = 20, thinkMs = 20, streams = 0.7, atMost = 20 * rate, headersMs } = options;
  const clients = new Map<Tenant, Client>(
    lab.tenants.map((tenant) => [tenant, createClient({ tenant, lab, headersMs })]),
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
