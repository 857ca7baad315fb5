import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type Ending } from "./client.ts";
import type { FunctionNote } from "./history.ts";
import type { Lab } from "./lab.ts";
import type { PlannedCall } from "./plan.ts";
import type { Tenant } from "./tenants.ts";

let groups = 0;

/** Queries whose calls run at runtimes until they are released. */
export interface HeldCalls {
  readonly endings: Promise<Ending[]>;
  /** The starts of these calls so far. */
  begun(): FunctionNote[];
  /** Resolves when all calls run. */
  running(): Promise<void>;
  /** Lets the functions end. */
  release(): Promise<void>;
}

/** Sends `queries` queries, each of which makes `calls` parallel calls in one turn. */
export function holdCalls(
  lab: Lab,
  tenant: Tenant,
  options: {
    queries: number;
    calls: number;
    name?: PlannedCall["name"];
    replica?: number;
    mode?: "stream" | "json";
  },
): HeldCalls {
  const { queries, calls, name = "charge", replica, mode = "stream" } = options;
  const gate = `${process.pid}-${++groups}`;
  const ask = createClient({ tenant, lab });
  const endings = Array.from({ length: queries }, (_, query) => {
    const id = `${tenant.name}.held.${gate}.${query}`;
    const turn = Array.from({ length: calls }, (_, call) => ({ name, id: `${id}.${call}`, gate }));
    return ask({ plan: { id, turns: [turn] }, mode, ...(replica !== undefined && { replica }) });
  });
  const begun = (): FunctionNote[] =>
    lab.functionNotes().filter(({ phase, id }) => phase === "begin" && id.startsWith(`${tenant.name}.held.${gate}.`));
  return {
    endings: Promise.all(endings),
    begun,
    running() {
      const allRun = (): boolean => new Set(begun().map(({ id }) => id)).size === queries * calls;
      return until(allRun, "the calls run", 30_000 * lab.patience);
    },
    release: () => writeFile(join(lab.folder, `gate-${gate}`), ""),
  };
}

/** Waits until the condition is true, checking it every 100 ms. */
export async function until(holds: () => boolean | Promise<boolean>, what: string, limitMs: number): Promise<void> {
  const endsAt = performance.now() + limitMs;
  while (!(await holds())) {
    if (performance.now() > endsAt) throw new Error(`not within ${limitMs} ms: ${what}`);
    await sleep(100);
  }
}
