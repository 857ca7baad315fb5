import type { JsonValue } from "@patchbay/protocol";
import { type ModelFunction, PROTECTED_MEMBERS } from "../../ports/model-provider.ts";

const WITHHELD = "[protected]";
/** Shorter texts and numbers say nothing by themselves, and stand in many places by chance. */
const SHORTEST = 4;

/** Leaves out what is for some roles alone: in the results that hold it, and wherever the conversation repeats it. */
export interface Withholder {
  /** A function's result as a recording keeps it. What cannot be read as JSON any more (it was cut) is left out whole. */
  result(name: string, content: string): string;
  text(text: string): string;
}

export function createWithholder(functions: readonly ModelFunction[]): Withholder {
  const members = new Map(functions.map((one) => [one.name, new Set(one[PROTECTED_MEMBERS])]));
  const values = new Set<string>();

  function withhold(value: JsonValue): string {
    const visit = (part: JsonValue): void => {
      if (typeof part === "object" && part !== null) Object.values(part).forEach(visit);
      else if (String(part).length >= SHORTEST && typeof part !== "boolean") values.add(String(part));
    };
    visit(value);
    return WITHHELD;
  }

  return {
    result(name, content) {
      const names = members.get(name);
      if (!names?.size) return content;
      if (names.has("$")) return withhold(content);
      if (!/^[[{]/.test(content)) return content;
      try {
        const kept = (member: string, value: JsonValue) => (names.has(member) ? withhold(value) : value);
        return JSON.stringify(JSON.parse(content, kept));
      } catch {
        return WITHHELD;
      }
    },
    text(text) {
      let kept = text;
      for (const value of values) kept = kept.replaceAll(value, WITHHELD);
      return kept;
    },
  };
}
