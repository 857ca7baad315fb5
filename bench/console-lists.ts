import type { Figures } from "./figures.ts";
import { median } from "./jobs.ts";

const TIMES = 5;

/** First pages of lists of runs: in each order, and with each filter, most of which match nothing and so read everything. */
const LISTS = [
  "runs",
  "runs?sort=-costUsd",
  "runs?sort=-durationMs",
  "runs?sort=-tokens",
  "runs?sort=createdAt",
  "runs?status=failed",
  "runs?role=none",
  "runs?noRole=1",
  "runs?model=none",
  "runs?code=none",
  "runs?source=playground",
  "runs?keyId=key_none",
  "runs?requestId=none",
  "runs?sessionId=none",
  "runs?threadId=none",
  "runs?functionName=none",
  "runs?trouble=denied",
  "runs?minDurationMs=600000",
  "runs?minCostUsd=1000",
  "run-totals",
  "threads",
  "sessions",
];
/** A word that no run has, one of all runs, and the beginning of one. */
const SEARCHES = ["runs?q=nowhere", "runs?q=order", "runs?q=o", "runs?q=order&sort=-costUsd"];

/** The slowest first page and the slowest search, by the median time until the whole response. */
export async function consoleLists(
  url: string,
  { agentId, link }: { agentId: string; link: string },
): Promise<Figures> {
  const cookie = await signIn(url, link);
  async function slowest(paths: readonly string[]): Promise<number> {
    const times: number[] = [];
    for (const path of paths) times.push(await medianMs(`${url}/api/agents/${agentId}/${path}`, cookie));
    return Math.max(...times);
  }
  return { listMs: await slowest(LISTS), searchMs: await slowest(SEARCHES) };
}

async function signIn(url: string, link: string): Promise<string> {
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
    const response = await fetch(address, { headers: { cookie, "sec-fetch-site": "same-origin" } });
    const text = await response.text();
    if (!response.ok) throw new Error(`${address}: ${response.status} ${text}`);
    times.push(performance.now() - startedAt);
  }
  return median(times);
}
