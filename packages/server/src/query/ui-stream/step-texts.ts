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
export function createStepTexts() {
  /** Growing parts, at most one per kind. */
  const growing = new Map<Kind, Part>();
  /** The step's stored texts. */
  let stored: Pick<Part, "kind" | "text">[] = [];
  /** True after the run has withdrawn the growing parts. The next stored event may still contain them all. */
  let isDoubted = false;
  let parts = 0;
  const newId = (): string => `part_${++parts}`;

  /** Removes the growing parts: resets the step, and adds the stored texts again. */
  function reset(): Chunk[] {
    isDoubted = false;
    if (growing.size === 0) return [];
    growing.clear();
    const before = stored;
    stored = [];
    return [{ type: "reset-step" }, ...before.flatMap(({ kind, text }) => whole(kind, text))];
  }

  function whole(kind: Kind, text: string): Chunk[] {
    stored.push({ kind, text });
    const part: Part = { kind, id: newId(), text };
    return [startOf(part), deltaOf(part, text), endOf(part)];
  }

  function end(part: Part): Chunk {
    growing.delete(part.kind);
    if (growing.size === 0) isDoubted = false;
    return endOf(part);
  }

  return {
    /** Adds a live text. */
    grow(kind: Kind, delta: string): Chunk[] {
      const withdrawn = isDoubted ? reset() : [];
      const known = growing.get(kind);
      const part = known ?? { kind, id: newId(), text: "" };
      part.text += delta;
      growing.set(kind, part);
      return [...withdrawn, ...(known ? [] : [startOf(part)]), deltaOf(part, delta)];
    },

    doubt(): void {
      isDoubted = growing.size > 0;
    },

    /** Adds a stored thought: reasoning, or text that the model wrote next to its calls. */
    thought(content: string): Chunk[] {
      const text = growing.get("text");
      // Reasoning is stored first. Text from an attempt whose withdrawal was lost would otherwise precede it.
      const [first] = growing.keys();
      const reasoning = first === "reasoning" ? growing.get(first) : undefined;
      if (reasoning?.text.trim().startsWith(content.trim())) {
        stored.push({ kind: "reasoning", text: content });
        // Several blocks of reasoning grow as one part.
        reasoning.text = reasoning.text.trim().slice(content.trim().length);
        return reasoning.text.trim() === "" ? [end(reasoning)] : [];
      }
      if (text?.text.trim() === content.trim()) {
        stored.push({ kind: "text", text: content });
        return [end(text)];
      }
      return [...reset(), ...whole("reasoning", content)];
    },

    /** Adds the text of the answer. */
    answer(response: string): Chunk[] {
      const text = growing.get("text");
      const isShown = text !== undefined && growing.size === 1 && response.startsWith(text.text);
      if (isShown && (!isDoubted || response === text.text)) {
        const rest = response.slice(text.text.length);
        return [...(rest === "" ? [] : [deltaOf(text, rest)]), end(text)];
      }
      return [...reset(), ...(response === "" ? [] : whole("text", response))];
    },

    /** Ends the texts of a turn that is stored completely. */
    close: reset,

    /** Ends a failed turn's texts. Text already shown stays, unless the run has withdrawn it. */
    fail: (): Chunk[] => (isDoubted ? reset() : [...growing.values()].map(end)),

    endStep(): Chunk[] {
      const closed = reset();
      stored = [];
      return closed;
    },
  };
}

const startOf = ({ kind, id }: Part): Chunk => ({ type: `${kind}-start`, id });
const deltaOf = ({ kind, id }: Part, delta: string): Chunk => ({ type: `${kind}-delta`, id, delta });
const endOf = ({ kind, id }: Part): Chunk => ({ type: `${kind}-end`, id });
