import { timeoutSignal } from "@patchbay/kit/time";
import { type Fault, RUN_ERROR_CODES, type RunErrorCode, RunStatus } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import type { Principal, RetryOptions, RunHandle } from "@patchbay/engine/run/api";
import { type Exchange, type Handler, json, originOf, text } from "../kernel/exchange.ts";
import { asStranger } from "@patchbay/engine/ports/fair-queue";
import { apiHandler, asApiCaller } from "./caller.ts";
import type { HttpDeps } from "./deps.ts";
import { cancelsWhenGone, counted, countQuery, keyedRun, type QueryDeps, statedBy, waitMsOf } from "./query-routes.ts";
import { pageOf, runId, unknownRun } from "./run-routes.ts";
import { nameRun } from "./stream-run.ts";

const RUNS = 50;

/** Routes that find failed runs and retry them. */
export function retryRoutes(deps: QueryDeps & Pick<HttpDeps, "reads">): Record<"listRuns" | "retryRun", Handler> {
  const { runs, reads } = deps;
  return {
    listRuns: apiHandler(deps)(async (exchange, caller) => {
      const asked = runsAsked(exchange);
      return json(exchange, 200, await reads.run(asStranger(caller.orgId), () => runs.list(caller, asked)));
    }),

    retryRun: (exchange) =>
      counted(deps, "retry", (begun) =>
        asApiCaller(exchange, deps, async (caller) => {
          const retryOf = runId(exchange);
          const waitMs = waitMsOf(exchange);
          const proven = caller.proven && statedBy(caller.proven);
          // The retried run takes the place of a body: the same key for another run is refused.
          const { known, idempotency } = await keyedRun(runs, caller, exchange, { retryOf, ...present({ proven }) });
          const run = begun({
            run:
              known ?? (await retry(deps, exchange, caller, { ...present({ idempotency }), reported: waitMs === 0 })),
            joined: known !== undefined,
          });
          nameRun(exchange, run);
          if (waitMs > 0) {
            const { signal } = exchange.c.req.raw;
            using reader = runs.attach(run, { cancelWhenGone: cancelsWhenGone(exchange) });
            const until = AbortSignal.any([signal, timeoutSignal(waitMs)]);
            const answer = await runs.resultText(run, { signal: until, waitMs });
            // A client that gets a response did not disconnect, although its run may continue.
            if (!signal.aborted) reader.answered();
            if (answer !== undefined) return text(exchange, answer, "application/json");
          }
          return json(exchange, 202, { success: true, runId: run.runId, threadId: run.threadId, retryOf });
        }),
      ),
  };
}

async function retry(
  { runs, rateLimit }: Pick<HttpDeps, "runs" | "rateLimit">,
  exchange: Exchange,
  caller: Principal,
  options: RetryOptions,
): Promise<RunHandle> {
  const failed = await runs.find(caller, runId(exchange));
  if (!failed) throw unknownRun();
  await countQuery(exchange, caller, rateLimit);
  const run = await runs.retry(caller, failed.runId, { ...options, ...originOf(exchange) });
  if (!run) throw unknownRun();
  return run;
}

function runsAsked(exchange: Exchange) {
  const { status, code, endedAfterWrites, sessionId, threadId } = exchange.c.req.query();
  const faults: Fault[] = [];
  const oneOf = <T extends string>(path: string, value: string | undefined, values: readonly T[]): T | undefined => {
    const found = values.find((known) => known === value);
    if (value && found === undefined) faults.push({ path, message: `must be one of ${values.join(", ")}` });
    return found;
  };
  const filter = present({
    status: oneOf("status", status, RunStatus.options),
    code: oneOf<RunErrorCode>("code", code, RUN_ERROR_CODES),
    endedAfterWrites: BOOLEANS[oneOf("endedAfterWrites", endedAfterWrites, ["true", "false"]) ?? "absent"],
    sessionId: sessionId || undefined,
    threadId: threadId || undefined,
  });
  return { ...filter, ...pageOf(exchange, RUNS, faults) };
}

const BOOLEANS = { true: true, false: false, absent: undefined };
