import { type LiveEvent, type RunEvent } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import type { RunHandle } from "@patchbay/engine/run/api";
import type { Chunk } from "./chunks.ts";
import { createStepTexts } from "./step-texts.ts";

type Event<Type extends RunEvent["type"]> = Extract<RunEvent, { type: Type }>;

/** A call without a result yet. `asked`: it waits for an approval. */
type OpenCall = "running" | "asked";

export const messageIdOf = (runId: string): string => `msg_${runId}`;

/**
 * Translates one run's events into one message's chunks. A model turn is a step: the client discards a failed attempt's
 * texts by step, so texts never share a step with the calls before them.
 */
export class RunChunks {
  readonly #run: Pick<RunHandle, "runId" | "threadId">;
  readonly #texts = createStepTexts();
  readonly #open = new Map<string, OpenCall>();
  readonly #names = new Map<string, string>();
  readonly #approved = new Set<string>();
  #hasCalls = false;
  #hasResults = false;
  #ended = false;

  constructor(run: Pick<RunHandle, "runId" | "threadId">) {
    this.#run = run;
  }

  /** True when the run has ended or waits for an approval: the message then has its last chunk. */
  get ended(): boolean {
    return this.#ended;
  }

  start(): Chunk {
    const { runId, threadId } = this.#run;
    return { type: "start", messageId: messageIdOf(runId), messageMetadata: { runId, threadId } };
  }

  of(event: RunEvent | LiveEvent): Chunk[] {
    switch (event.type) {
      case "responseDelta":
        return [...this.#stepOfTexts(), ...this.#texts.grow("text", event.content)];
      case "thoughtDelta":
        return [...this.#stepOfTexts(), ...this.#texts.grow("reasoning", event.content)];
      case "deltaReset":
        this.#texts.doubt();
        return [];
      case "toolProgress":
        return [{ type: "data-progress", id: event.toolCallId, data: event.data, transient: true }];
      case "modelStatus": {
        const { type: _, ...data } = event;
        return [{ type: "data-model-status", data: present(data), transient: true }];
      }
      case "thought":
        return [...this.#stepOfTexts(), ...this.#texts.thought(event.content)];
      case "toolCall":
        return this.#call(event);
      case "toolResult":
        return [this.#result(event), ...this.#pause()];
      case "approvalRequest":
        return [this.#request(event), ...this.#pause()];
      case "approvalDecision":
        return this.#decision(event);
      case "finalResponse":
        return this.#answer(event);
      case "error":
        return this.#failure(event);
    }
  }

  /** Continues a message that ended when its run began to wait. */
  resume(): void {
    this.#ended = false;
  }

  #stepOfTexts(): Chunk[] {
    return this.#hasCalls ? this.#nextStep() : [];
  }

  #nextStep(): Chunk[] {
    this.#hasCalls = false;
    this.#hasResults = false;
    return [...this.#texts.endStep(), { type: "finish-step" }, { type: "start-step" }];
  }

  #call({ toolCallId, toolName, parameters: input }: Event<"toolCall">): Chunk[] {
    // A turn's calls are stored together, before their results.
    const step = this.#hasResults ? this.#nextStep() : this.#texts.close();
    this.#hasCalls = true;
    this.#open.set(toolCallId, "running");
    this.#names.set(toolCallId, toolName);
    return [...step, { type: "tool-input-available", toolCallId, toolName, input, dynamic: true }];
  }

  #result({ toolCallId, success, result = null, errorMessage = "", code }: Event<"toolResult">): Chunk {
    this.#open.delete(toolCallId);
    this.#hasResults = true;
    if (success) return { type: "tool-output-available", toolCallId, output: result, dynamic: true };
    // A denied part needs an approval, so a call without one cannot show it.
    const isRefused = (code === "rejected" || code === "approval_expired") && this.#approved.has(toolCallId);
    if (isRefused) return { type: "tool-output-denied", toolCallId };
    return { type: "tool-output-error", toolCallId, errorText: errorMessage, dynamic: true };
  }

  #request({ approvalId, toolCallId, reason, by, expiresAt }: Event<"approvalRequest">): Chunk {
    this.#open.set(toolCallId, "asked");
    this.#approved.add(toolCallId);
    return {
      type: "tool-approval-request",
      approvalId,
      toolCallId,
      approvalDescriptor: { by, expiresAt },
      ...present({ reason }),
    };
  }

  #decision({ approvalId, toolCallId, decision, reason, parameters }: Event<"approvalDecision">): Chunk[] {
    // A run continues when all its approvals are decided, and reports each decision with its call.
    for (const callId of this.#open.keys()) this.#open.set(callId, "running");
    const toolName = this.#names.get(toolCallId) ?? "";
    const approved = decision === "approved";
    const why = reason ?? (approved || decision === "rejected" ? undefined : decision);
    const edited: Chunk[] =
      parameters === undefined
        ? []
        : [{ type: "tool-input-available", toolCallId, toolName, input: parameters, dynamic: true }];
    return [...edited, { type: "tool-approval-response", approvalId, approved, ...present({ reason: why }) }];
  }

  /** A run waits once all its open calls wait for approvals. */
  #pause(): Chunk[] {
    const open = [...this.#open.values()];
    if (open.length === 0 || !open.every((state) => state === "asked")) return [];
    this.#ended = true;
    return [{ type: "finish-step" }, { type: "finish", finishReason: "tool-calls" }];
  }

  #answer({ response, structured, usage, warnings }: Event<"finalResponse">): Chunk[] {
    this.#ended = true;
    return [
      ...this.#stepOfTexts(),
      ...this.#texts.answer(response),
      ...(structured === undefined ? [] : [{ type: "data-structured" as const, data: structured }]),
      { type: "finish-step" },
      { type: "finish", finishReason: "stop", messageMetadata: { usage, ...present({ warnings }) } },
    ];
  }

  #failure({ code, errorMessage: message, warnings }: Event<"error">): Chunk[] {
    this.#ended = true;
    const open = [...this.#open.keys()].map((toolCallId): Chunk => {
      const errorText = "The run ended before the function answered.";
      return { type: "tool-output-error", toolCallId, errorText, dynamic: true };
    });
    const end: Chunk =
      code === "cancelled" ? { type: "abort", reason: message } : { type: "error", errorText: message };
    const metadata: Chunk = {
      type: "message-metadata",
      messageMetadata: { error: { code, message }, ...present({ warnings }) },
    };
    return [...this.#texts.fail(), ...open, metadata, end];
  }
}
