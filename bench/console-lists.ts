import { RunStatus } from "@patchbay/protocol";
import { FigureSource, RunSort, type runFilter } from "@patchbay/protocol/console";
import type { Figures } from "./figures.ts";
import { median } from "./jobs.ts";
import { TAG } from "./seed.ts";

const TIMES = 5;

const DAY_AGO = new Date(Date.now() - 86_400_000).toISOString();

/** Values of each filter of runs; most match nothing, and so read everything. Some runs have the tag. */
const FILTERS: Record<Exclude<keyof typeof runFilter, "q">, readonly string[]> = {
  status: RunStatus.options,
  role: ["none"],
  noRole: ["1"],
  functionName: ["none"],
  trouble: ["denied", "failed"],
  feedback: ["good", "bad", "any"],
  tag: ["none", TAG],
  model: ["none"],
  code: ["none"],
  source: FigureSource.options,
  keyId: ["key_none"],
  requestId: ["none"],
  minDurationMs: ["600000"],
  minCostUsd: ["1000"],
  sessionId: ["none"],
  threadId: ["none"],
  from: [DAY_AGO],
  to: [DAY_AGO],
};

const listsOf = (agentId: string): string[] =>
  [
    ...RunSort.options.map((sort) => `runs?sort=${sort}`),
    ...Object.entries(FILTERS).flatMap(([name, values]) =>
      values.map((value) => `runs?${name}=${encodeURIComponent(value)}`),
    ),
    "run-totals",
    "run-values",
    "threads",
    "sessions",
    "functions",
    "runtimes",
    "credentials",
  ].map((list) => `agents/${agentId}/${list}`);

/** Lists of the organisation. */
const OFFICE = [
  "audit",
  "audit?role=none",
  "audit?functionName=none",
  "credits/ledger",
  "approvals",
  "members",
  "agents",
];
/** A word that no run has, one of all runs, and the beginning of one. */
const SEARCHES = ["runs?q=nowhere", "runs?q=order", "runs?q=o", "runs?q=order&sort=-costUsd"];
/** The palette's. */
const FINDS = ["search?q=nowhere", "search?q=order", "search?q=run_"];

/** The slowest first page and the slowest search, by the median time until the whole response. */
export async function consoleLists(
  url: string,
  { agentId, link }: { agentId: string; link: string },
  note: (text: string) => void,
): Promise<Figures> {
  const cookie = await signIn(url, link);
  async function slowest(paths: readonly string[]): Promise<number> {
    let [slowestMs, slowest] = [0, ""];
    for (const path of paths) {
      const ms = await medianMs(`${url}/api/${path}`, cookie);
      if (ms > slowestMs) [slowestMs, slowest] = [ms, path];
    }
    note(`the slowest is ${slowest}: ${Math.round(slowestMs)} ms`);
    return slowestMs;
  }
  const searches = [...SEARCHES.map((search) => `agents/${agentId}/${search}`), ...FINDS];
  return { listMs: await slowest([...listsOf(agentId), ...OFFICE]), searchMs: await slowest(searches) };
}

/** The cookie of the owner, who accepts the invitation. */
export async function signIn(url: string, link: string): Promise<string> {
  const body = { link: link.split("#")[1], name: "Owner", password: "a password of the benchmark" };
  const headers = { "content-type": "application/json", origin: url };
  const response = await fetch(`${url}/api/links/accept`, { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`The owner could not sign in: ${await response.text()}`);
  return response.headers
    .getSetCookie()
    .map((set) => set.split(";")[0])
    .join("; ");
}

async function medianMs(address: string, cookie: string): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < TIMES; i++) {
    const startedAt = performance.now();
    await read(address, cookie);
    times.push(performance.now() - startedAt);
  }
  return median(times);
}

async function read(address: string, cookie: string): Promise<void> {
  const response = await fetch(address, { headers: { cookie, "sec-fetch-site": "same-origin" } });
  const text = await response.text();
  if (!response.ok) throw new Error(`${address}: ${response.status} ${text}`);
}
