import { type JsonObject } from "@patchbay/kit";
import { MESSAGES, type RunErrorCode } from "@patchbay/protocol";
import { type NoModel, whyMissing } from "../ports/model-provider.ts";
import { RunMoved } from "../ports/function-gateway.ts";

/** Ends a run without an answer. The caller sees `message`; `cause` is only logged. */
export class RunFailure extends Error {
  override readonly name = "RunFailure";
  readonly code: RunErrorCode;
  /** Model text that the caller gets although the run failed. */
  readonly response: string;
  /** For the audit log. */
  readonly detail: JsonObject | undefined;
  /** Added to the run's warnings. */
  readonly warnings: readonly string[];

  constructor(
    code: RunErrorCode,
    message: string,
    options?: ErrorOptions & { response?: string; detail?: JsonObject; warnings?: readonly string[] },
  ) {
    super(message, options);
    this.code = code;
    this.response = options?.response ?? "";
    this.detail = options?.detail;
    this.warnings = options?.warnings ?? [];
  }
}

export const sessionNotFound = (...warnings: string[]): RunFailure =>
  new RunFailure("agent_session_not_found", MESSAGES.agent_session_not_found, { warnings });
export const insufficientCredits = (): RunFailure =>
  new RunFailure("insufficient_credits", MESSAGES.insufficient_credits);
export const unpricedModel = (model: string): RunFailure =>
  new RunFailure(
    "model_not_allowed",
    `No price is known for model ${model}, so charged organisations cannot use it. Use another model, or ask the operator to add its price (--prices).`,
  );
export const uncappableModel = (model: string, capMicros: number): RunFailure =>
  new RunFailure(
    "model_not_allowed",
    `No price is known for model ${model}, so the run cannot keep its cost cap of ${usd(capMicros)}. Use another model, ask the operator to add its price (--prices), or remove the cap (maxCostUsd of the agent).`,
  );

/** Formats micro-USD with two to six decimals, for example `$0.0125`. */
export const usd = (micros: number): string => `$${(micros / 1_000_000).toFixed(6).replace(/0{1,4}$/, "")}`;

export const turnLimit = (turns: number): RunFailure =>
  new RunFailure("step_limit", `The model still called functions after ${turns} ${turns === 1 ? "step" : "steps"}`);
export const timedOut = (): RunFailure => new RunFailure("deadline_exceeded", MESSAGES.deadline_exceeded);
export const crashLoop = (crashes: number): RunFailure =>
  new RunFailure(
    "crash_loop",
    `The run was in progress at ${crashes} crashes of its process, the last ones without another suspect run. It is not resumed again.`,
  );
export const cancelled = (): RunFailure => new RunFailure("cancelled", MESSAGES.cancelled);

export const threadBusy = ({ waits }: { waits?: true }): RunFailure =>
  new RunFailure(
    "thread_busy",
    waits
      ? "The last query of this thread waits for an approval or a function. Wait for it, or send this query with supersede: true to cancel it."
      : "Too many queries wait on this thread. Try again when one has ended.",
  );

export const notConfigured = (choice: NoModel): RunFailure =>
  new RunFailure(choice.models ? "model_not_allowed" : "provider_not_configured", whyMissing(choice));

/** This process stops working on the run, which waits for its next owner. */
export class HandedOver extends RunMoved {
  override readonly name = "HandedOver";
}
