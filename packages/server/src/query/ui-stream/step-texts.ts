import type { Chunk } from "./chunks.ts";

type Kind = "text" | "reasoning";

interface Part {
  kind: Kind;
  id: string;
  /** Text shown to the client that no stored event contains. */
  text: string;
}

/**
 * One step's texts: what clients see while the model writes, compared with what is stored afterwards. Live events may
 * be missing, for a slow or late reader, or withdrawn. The step is then reset, and has the stored texts only.
 */
export class StepTexts {
  /** Growing parts, at most one per kind. */
  readonly #growing = new Map<Kind, Part>();
  /** The step's stored texts. */
  #stored: Pick<Part, "kind" | "text">[] = [];
  /** True after the run has withdrawn the growing parts. The next stored event may still contain them all. */
  #isDoubted = false;
  #parts = 0;

  /** Adds a live text. */
  grow(kind: Kind, delta: string): Chunk[] {
    const reset = this.#isDoubted ? this.#reset() : [];
    const known = this.#growing.get(kind);
    const part = known ?? { kind, id: this.#newId(), text: "" };
    part.text += delta;
    this.#growing.set(kind, part);
    return [...reset, ...(known ? [] : [startOf(part)]), deltaOf(part, delta)];
  }

  doubt(): void {
    this.#isDoubted = this.#growing.size > 0;
  }

  /** Adds a stored thought: reasoning, or text that the model wrote next to its calls. */
  thought(content: string): Chunk[] {
    const text = this.#growing.get("text");
    // Reasoning is stored first. Text from an attempt whose withdrawal was lost would otherwise precede it.
    const [first] = this.#growing.keys();
    const reasoning = first === "reasoning" ? this.#growing.get(first) : undefined;
    if (reasoning?.text.trim().startsWith(content.trim())) {
      this.#store({ kind: "reasoning", text: content });
      // Several blocks of reasoning grow as one part.
      reasoning.text = reasoning.text.trim().slice(content.trim().length);
      return reasoning.text.trim() === "" ? [this.#end(reasoning)] : [];
    }
    if (text?.text.trim() === content.trim()) {
      this.#store({ kind: "text", text: content });
      return [this.#end(text)];
    }
    const reset = this.#reset();
    return [...reset, ...this.#whole({ kind: "reasoning", text: content })];
  }

  /** Adds the text of the answer. */
  answer(response: string): Chunk[] {
    const text = this.#growing.get("text");
    const isShown = text !== undefined && this.#growing.size === 1 && response.startsWith(text.text);
    if (isShown && (!this.#isDoubted || response === text.text)) {
      const rest = response.slice(text.text.length);
      return [...(rest === "" ? [] : [deltaOf(text, rest)]), this.#end(text)];
    }
    return [...this.#reset(), ...(response === "" ? [] : this.#whole({ kind: "text", text: response }))];
  }

  /** Ends the texts of a turn that is stored completely. */
  close(): Chunk[] {
    return this.#reset();
  }

  /** Ends a failed turn's texts. Text already shown stays, unless the run has withdrawn it. */
  fail(): Chunk[] {
    return this.#isDoubted ? this.#reset() : [...this.#growing.values()].map((part) => this.#end(part));
  }

  endStep(): Chunk[] {
    const closed = this.close();
    this.#stored = [];
    return closed;
  }

  /** Removes the growing parts: resets the step, and adds the stored texts again. */
  #reset(): Chunk[] {
    this.#isDoubted = false;
    if (this.#growing.size === 0) return [];
    this.#growing.clear();
    const stored = this.#stored;
    this.#stored = [];
    return [{ type: "reset-step" }, ...stored.flatMap((part) => this.#whole(part))];
  }

  #whole({ kind, text }: Pick<Part, "kind" | "text">): Chunk[] {
    this.#store({ kind, text });
    const part: Part = { kind, id: this.#newId(), text };
    return [startOf(part), deltaOf(part, text), endOf(part)];
  }

  #store(part: Pick<Part, "kind" | "text">): void {
    this.#stored.push(part);
  }

  #end(part: Part): Chunk {
    this.#growing.delete(part.kind);
    if (this.#growing.size === 0) this.#isDoubted = false;
    return endOf(part);
  }

  #newId(): string {
    return `part_${++this.#parts}`;
  }
}

const startOf = ({ kind, id }: Part): Chunk => ({ type: `${kind}-start`, id });
const deltaOf = ({ kind, id }: Part, delta: string): Chunk => ({ type: `${kind}-delta`, id, delta });
const endOf = ({ kind, id }: Part): Chunk => ({ type: `${kind}-end`, id });
