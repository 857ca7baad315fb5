import { expect } from "vitest";
import { ModelError } from "../../src/ports/model-provider.ts";
import type { RetryOptions, RunHandle } from "../../src/run/api.ts";
import type { startScripted } from "./core.ts";
import { manifestOf, ok } from "./fake-gateway.ts";
import type { ScriptedTurn } from "./scripted-model.ts";

/** A failure that no attempt helps against. */
export const down: ScriptedTurn = { fail: new ModelError("authentication", "the key is wrong") };
export const paid = ok({ paid: true });
export const pay: ScriptedTurn = { text: "I pay.", calls: [["pay", { order: 7 }]] };
export const manifest = manifestOf({ pay: "everyone" });

type Core = Pick<Awaited<ReturnType<typeof startScripted>>, "runs" | "caller" | "start" | "result">;

export async function retried(
  core: Core,
  { runId }: Pick<RunHandle, "runId">,
  options: RetryOptions = {},
): Promise<RunHandle> {
  const run = await core.runs.retry(core.caller, runId, options);
  if (!run) throw new Error("the run to retry is unknown");
  return run;
}

export async function failed(core: Core, text = "Pay order 7."): Promise<RunHandle> {
  const run = await core.start(text);
  expect(await core.result(run)).toMatchObject({ success: false });
  return run;
}

export const conflict = (status: string) => expect.objectContaining({ code: "conflict", status });
