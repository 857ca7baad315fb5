import type { ModelDelta } from "@patchbay/engine/ports/model-provider";

const [OPEN, CLOSE] = ["<think>", "</think>"];

/**
 * Separates the `<think>` blocks at the beginning of a text that arrives in pieces: servers of local models without a
 * parser for reasoning send it so. A piece that may be half a tag is held back; `end` returns it.
 */
export function thinkTags() {
  let place: "before" | "inside" | "after" = "before";
  let hasThought = false;
  let held = "";

  function pass(type: ModelDelta["type"], length = held.length): ModelDelta[] {
    const text = held.slice(0, length);
    held = held.slice(length);
    return text === "" ? [] : [{ type, text }];
  }

  function take(piece: string): ModelDelta[] {
    held += piece;
    if (place === "inside") {
      const end = held.indexOf(CLOSE);
      const half = held.lastIndexOf("<");
      if (end === -1)
        return pass("thoughtDelta", CLOSE.startsWith(held.slice(half)) && half !== -1 ? half : held.length);
      const thought = pass("thoughtDelta", end);
      [place, held] = ["before", held.slice(CLOSE.length)];
      return [...thought, ...take("")];
    }
    if (place === "before") {
      const begin = held.trimStart();
      if (hasThought) held = begin;
      if (begin !== OPEN && OPEN.startsWith(begin)) return [];
      if (begin.startsWith(OPEN)) {
        [place, hasThought, held] = ["inside", true, begin.slice(OPEN.length)];
        return take("");
      }
      place = "after";
    }
    return pass("textDelta");
  }
  return { take, end: () => pass(place === "inside" ? "thoughtDelta" : "textDelta") };
}

/** A whole text without such blocks, and what they hold. */
export function splitThinking(text: string): Record<ModelDelta["type"], string> {
  const tags = thinkTags();
  const split = { textDelta: "", thoughtDelta: "" };
  for (const delta of [...tags.take(text), ...tags.end()]) split[delta.type] += delta.text;
  return split;
}
