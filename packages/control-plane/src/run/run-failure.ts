import { type JsonObject, MESSAGES, type RunErrorCode } from "@patchbay/protocol";
import { RunMoved } from "../ports/function-gateway.ts";

/** Ends a run without an answer: `message` is what the caller reads. */
export class RunFailure extends Error {
  override readonly name = "RunFailure";
  readonly code: RunErrorCode;
  /** What the model wrote, where the caller reads it all the same. */
  readonly response: string;
  /** For the audit log. */
  readonly detail: JsonObject | undefined;

  constructor(
    code: RunErrorCode,
    message: string,
    options?: ErrorOptions & { response?: string; detail?: JsonObject },
  ) {
    super(message, options);
    this.code = code;
    this.response = options?.response ?? "";
    this.detail = options?.detail;
  }
}

export const sessionNotFound = (): RunFailure =>
  new RunFailure("agent_session_not_found", MESSAGES.agent_session_not_found);
export const insufficientCredits = (): RunFailure =>
  new RunFailure("insufficient_credits", MESSAGES.insufficient_credits);
export const unpricedModel = (model: string): RunFailure =>
  new RunFailure(
    "model_not_allowed",
    `No price is known for model ${model}, so organisations that pay cannot use it. Name another model, or have the operator add its price (--prices).`,
  );
export const uncappableModel = (model: string, capMicros: number): RunFailure =>
  new RunFailure(
    "model_not_allowed",
    `No price is known for model ${model}, so the run cannot keep its cost cap of ${usd(capMicros)}. Name another model, have the operator add its price (--prices), or remove the cap (maxCostUsd of the agent).`,
  );

/** At least two decimals, and as many of the six as are needed. */
export const usd = (micros: number): string => `$${(micros / 1_000_000).toFixed(6).replace(/0{1,4}$/, "")}`;

export const stepLimit = (steps: number): RunFailure =>
  new RunFailure("step_limit", `The model still called functions after ${steps} ${steps === 1 ? "step" : "steps"}`);
export const timedOut = (): RunFailure => new RunFailure("deadline_exceeded", MESSAGES.deadline_exceeded);
export const crashLoop = (crashes: number): RunFailure =>
  new RunFailure(
    "crash_loop",
    `The run was in progress ${crashes} times when its process ended, the last times with no other suspect run. It is not resumed again.`,
  );
export const cancelled = (): RunFailure => new RunFailure("cancelled", MESSAGES.cancelled);

/** This process stops working on the run, which waits for another owner. */
export class HandedOver extends RunMoved {
  override readonly name = "HandedOver";
}
