import type { LiveEvent, RunEvent } from "@patchbay/protocol";

/** What an event adds to the client's answer so far. */
export interface Addition {
  content?: string;
  reasoning?: string;
}

type Final = Extract<RunEvent, { type: "finalResponse" }>;

/** Characters of a call's arguments that its line shows. */
const SHOWN_ARGUMENTS = 200;
const BREAK = "\n\n";

/**
 * Turns a run's events into additions to two texts: a message's content and its reasoning. A client cannot discard text
 * that it has, so a text that a later event withdraws stays, and what follows starts a new paragraph. The content
 * always ends with the run's answer.
 */
export class Transcript {
  /** Content from the current attempt at a turn. */
  #written = "";
  /** Content from a discarded attempt. The next attempt continues it if it writes the same again. */
  #discarded: string | undefined;
  /** Thoughts shown live. Their stored event follows. */
  #thought = "";
  #inThought = false;
  #hasReasoning = false;
  #hasContent = false;
  readonly #asJson: boolean;

  constructor({ asJson }: { asJson: boolean }) {
    this.#asJson = asJson;
  }

  add(event: RunEvent | LiveEvent): Addition {
    switch (event.type) {
      case "responseDelta":
        return content(this.#write(event.content));
      case "deltaReset":
        return this.#discard();
      case "thoughtDelta":
        return this.#think(event.content);
      case "thought":
        return this.#stored(event.content);
      case "toolCall":
        return this.#line(`Calls ${event.toolName} with ${shortened(JSON.stringify(event.parameters))}`);
      case "approvalRequest":
        return this.#line(`Waits until a person has decided on the call of ${event.toolName}`);
      case "finalResponse":
        return content(this.finish(answerText(event, this.#asJson)));
      case "toolResult":
      case "approvalDecision":
      case "toolProgress":
      case "modelStatus":
      case "error":
        return {};
    }
  }

  /** Completes the content so that it ends with `text`. */
  finish(text: string): string {
    const shown = this.#discarded ?? this.#written;
    this.#discarded = undefined;
    this.#written = text;
    return text.startsWith(shown) ? this.#append(text.slice(shown.length), shown === "") : this.#append(text, true);
  }

  #write(delta: string): string {
    const discarded = this.#discarded;
    const begins = this.#written === "" && discarded === undefined;
    this.#written += delta;
    if (discarded === undefined) return this.#append(delta, begins);
    if (discarded.startsWith(this.#written)) return "";
    this.#discarded = undefined;
    return this.#written.startsWith(discarded)
      ? this.#append(this.#written.slice(discarded.length), false)
      : this.#append(this.#written, true);
  }

  #discard(): Addition {
    this.#discarded ??= this.#written === "" ? undefined : this.#written;
    this.#written = "";
    this.#inThought = false;
    return {};
  }

  #think(delta: string): Addition {
    const begins = !this.#inThought;
    this.#inThought = true;
    this.#thought += delta;
    return { reasoning: this.#reason(delta, begins) };
  }

  /** A stored thought: reasoning, shown live or not, or text next to calls, shown as content or not. */
  #stored(thought: string): Addition {
    this.#inThought = false;
    if (this.#thought.includes(thought)) return {};
    if (thought === (this.#discarded ?? this.#written)) {
      this.#leave();
      return {};
    }
    return { reasoning: this.#reason(thought, true) };
  }

  #line(line: string): Addition {
    this.#inThought = false;
    this.#thought = "";
    this.#leave();
    return { reasoning: this.#reason(line, true) };
  }

  /** The text so far is not part of the answer. */
  #leave(): void {
    this.#written = "";
    this.#discarded = undefined;
  }

  #reason(text: string, begins: boolean): string {
    const lead = begins && this.#hasReasoning ? BREAK : "";
    this.#hasReasoning = true;
    return lead + text;
  }

  #append(text: string, begins: boolean): string {
    if (text === "") return "";
    const lead = begins && this.#hasContent ? BREAK : "";
    this.#hasContent = true;
    return lead + text;
  }
}

const content = (text: string): Addition => (text === "" ? {} : { content: text });

/** A client that asked for JSON gets only the value; others get it in a fence, as the query API does. */
export function answerText({ response, structured }: Pick<Final, "response" | "structured">, asJson: boolean): string {
  return asJson && structured !== undefined ? JSON.stringify(structured) : response;
}

const shortened = (text: string): string =>
  text.length <= SHOWN_ARGUMENTS ? text : `${text.slice(0, SHOWN_ARGUMENTS)}…`;
