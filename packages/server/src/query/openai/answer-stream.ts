import type { LiveEvent, QueryResponse, RunErrorCode, RunEvent, Usage } from "@patchbay/protocol";
import { present } from "@patchbay/kit";
import { ends } from "@patchbay/engine/ports/store/run-store";
import { CUT_ANSWER, type Followed } from "@patchbay/engine/run/api";
import type { Translator } from "../../kernel/event-stream.ts";
import type { ChatForm } from "./chat-request.ts";
import { RunEndedError } from "./errors.ts";
import { type Addition, answerText, Transcript } from "./transcript.ts";

/** How an answer ended, in the words of chat completions. */
export type FinishReason = "stop" | "length" | "content_filter";

/** Run ends that OpenAI clients accept as an answer, however short. */
const FINISHES: Partial<Record<RunErrorCode | "approval_required", FinishReason>> = {
  output_limit: "length",
  model_refused: "content_filter",
  refused: "content_filter",
};

const answerFinish = (warnings: readonly string[] = []): FinishReason =>
  warnings.includes(CUT_ANSWER) ? "length" : "stop";

/** The chat's reader must see a refusal. */
const refusalText = (finish: FinishReason, message: string): string => (finish === "content_filter" ? message : "");

/** An ended run's answer, the same in each of OpenAI's APIs. */
export interface WholeAnswer {
  text: string;
  reasoning: string;
  finish: FinishReason;
  usage: Usage;
  warnings?: string[] | undefined;
}

/** Throws `RunEndedError` for a run without an answer. */
export async function wholeAnswer(
  answer: QueryResponse,
  events: AsyncIterable<Followed>,
  form: ChatForm,
): Promise<WholeAnswer> {
  const { success, code, errorMessage, warnings, usage } = answer;
  const finish = success ? answerFinish(warnings) : code && FINISHES[code];
  if (!finish) throw new RunEndedError(code ?? "internal", errorMessage);
  const text = success ? answerText(answer, form.asJson) : refusalText(finish, errorMessage);
  const transcript = new Transcript(form);
  let reasoning = "";
  for await (const { body } of events)
    if (!ends(body)) reasoning += transcript.add(JSON.parse(body) as RunEvent).reasoning ?? "";
  return { text, reasoning, finish, usage, warnings };
}

/** Writes the parts of a streamed answer in the form of an API. */
export interface AnswerWriter {
  /** What it needs of a failed run. */
  readonly needsUsage: boolean;
  open(): string;
  add(addition: Addition): string;
  finish(reason: FinishReason, more: { usage?: Usage; warnings?: string[] }): string;
  fail(failure: Pick<RunEndedError, "code" | "message">, usage?: Usage): string;
}

/** What a stream needs from its run. */
export interface StreamedRun {
  /** The stream ends before its run, and the client cannot resume it. */
  interrupted: () => void;
  /** The run's usage, once it has ended. The last event states it only if there is an answer. */
  usage: () => Promise<Usage | undefined>;
}

/** Writes one run's events. Never asks the client to call a function. */
export function answerTranslator(form: ChatForm, run: StreamedRun, writer: AnswerWriter): Translator {
  const transcript = new Transcript(form);
  let ended = false;
  let waits = false;

  function fail({ code, errorMessage: message }: Extract<RunEvent, { type: "error" }>, usage?: Usage): string {
    ended = true;
    const reason = FINISHES[code];
    if (!reason) return writer.fail({ code, message }, usage);
    const content = transcript.finish(refusalText(reason, message));
    return writer.add({ content }) + writer.finish(reason, present({ usage }));
  }

  return {
    open: () => writer.open(),

    event({ body }) {
      const event = JSON.parse(body) as RunEvent | LiveEvent;
      if (event.type === "modelStatus") return `: ${body}\n\n`;
      const added = writer.add(transcript.add(event));
      if (event.type === "approvalRequest") waits = true;
      if (event.type === "approvalDecision") waits = false;
      if (event.type === "finalResponse") {
        ended = true;
        const { warnings, usage } = event;
        return added + writer.finish(answerFinish(warnings), { usage, ...present({ warnings }) });
      }
      if (event.type !== "error") return added;
      return writer.needsUsage ? run.usage().then((usage) => fail(event, usage)) : fail(event);
    },

    close() {
      if (ended) return "";
      run.interrupted();
      return writer.fail(
        waits ? { code: "approval_required", message: WAITING } : { code: "internal", message: INTERRUPTED },
      );
    },
  };
}

const WAITING =
  "The run waits until a person has decided on a call. It continues after the decision, without this stream.";
const INTERRUPTED = "The stream ended before its run. The run continues; X-Run-Id names it.";
