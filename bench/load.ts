import { openClient, requestBytes, type Answer, type Client } from "./client.ts";
import { quantile, type Job, type Load, type Moment } from "./jobs.ts";

/** The load generator: a separate process that runs one job at a time and answers with its measurements. */
async function run(job: Job): Promise<Load> {
  const { concurrency, ports } = job;
  const { count = Infinity, ms = Infinity } = job.until;
  const requests = job.requests.map((request) => requestBytes(request));
  const clients = await Promise.all(
    Array.from({ length: concurrency }, (_, i) => openClient(ports[i % ports.length]!)),
  );
  const taken: number[] = [];
  const moments: Record<Moment, number[]> = { event: [], token: [] };
  const failed: string[] = [];
  let next = 0;
  const began = performance.now();
  const more = (): boolean => failed.length === 0 && next < count && performance.now() - began < ms;

  async function work(client: Client): Promise<void> {
    while (more()) {
      const request = requests[next++ % requests.length]!;
      const from = performance.now();
      const watch = watcher(job.moments, (moment) => moments[moment].push(performance.now() - from));
      const answer = await client.send(request, watch);
      const fault = faultOf(answer, job);
      if (fault !== undefined) failed.push(fault);
      else taken.push(performance.now() - from);
    }
  }

  const results = await Promise.allSettled(clients.map(work));
  const seconds = (performance.now() - began) / 1000;
  for (const client of clients) client.close();
  for (const result of results) if (result.status === "rejected") failed.push(String(result.reason));
  const measured = Object.entries(moments).filter(([, values]) => values.length > 0);
  return {
    done: taken.length,
    errors: failed.length,
    ...(failed[0] !== undefined && { firstError: failed[0] }),
    seconds,
    p50Ms: quantile(taken, 0.5),
    p99Ms: quantile(taken, 0.99),
    momentMs: Object.fromEntries(measured.map(([moment, values]) => [moment, quantile(values, 0.5)])),
  };
}

/** Reports each moment once. Undefined without moments, so that bodies are not searched. */
function watcher(moments: Job["moments"], onMoment: (moment: Moment) => void): ((body: string) => void) | undefined {
  const open = Object.entries(moments ?? {}) as [Moment, string][];
  if (open.length === 0) return undefined;
  return (body) => {
    for (let i = open.length - 1; i >= 0; i--) {
      const [moment, text] = open[i]!;
      if (!body.includes(text)) continue;
      open.splice(i, 1);
      onMoment(moment);
    }
  };
}

function faultOf({ status, body }: Answer, { expect }: Job): string | undefined {
  if (status !== 200) return `status ${status}: ${body.slice(0, 500)}`;
  for (const { text, times } of expect) {
    const found = body.split(text).length - 1;
    if (found !== times) return `${JSON.stringify(text)} appears ${found} times, not ${times}, in: ${body.slice(-800)}`;
  }
  return undefined;
}

process.on("message", (job: Job) => {
  run(job).then(
    (load) => process.send?.({ load }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit(0));
process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
