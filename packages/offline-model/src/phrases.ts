import type { JsonValue } from "@patchbay/kit";
import type { KnownFunction } from "./function-set.ts";
import type { Parameter } from "./parameters.ts";
import type { Reading } from "./reading.ts";
import { list } from "./schema.ts";
import { nameWords, stem } from "./words.ts";

/** The enum members that a text names best, by all or at least half their words; none if two are named by halves. */
export function membersNamed({ one, entity }: Parameter, { words, units }: Reading, fn: KnownFunction): JsonValue[] {
  if (one.const !== undefined) return [one.const];
  const stems = new Set(words.map((word) => word.stem));
  const said = ` ${words.map((word) => word.text.toLowerCase()).join(" ")} `;
  const shareOf = (member: JsonValue): number => {
    if (typeof member !== "string")
      return units.some(({ values }) => values.some(({ text }) => text === JSON.stringify(member))) ? 1 : 0;
    const parts = nameWords(member);
    if (parts.length > 0 && said.includes(` ${parts.join(" ").toLowerCase()} `)) return 2;
    const telling = parts.map(stem).filter((part) => part.length > 2 && !fn.stems.has(part) && !entity.includes(part));
    return telling.length === 0 ? 0 : telling.filter((part) => stems.has(part)).length / telling.length;
  };
  const rated = list(one.enum).map((member) => ({ member, share: shareOf(member) }));
  const best = Math.max(0.5, ...rated.map(({ share }) => share));
  const named = rated.filter(({ share }) => share === best);
  return best < 1 && named.length > 1 ? [] : named.map(({ member }) => member);
}

/** True or false if the text contains the parameter's name, with or without a negation. */
export function findBoolean({ name }: Parameter, { words }: Reading): boolean | undefined {
  const parts = nameWords(name)
    .filter((part) => !/^(?:is|has|with|include|only)$/iu.test(part))
    .map(stem);
  if (parts.length === 0) return undefined;
  const at = words.findIndex((_, start) => parts.every((part, i) => words[start + i]?.stem === part));
  const near = [...words.slice(Math.max(0, at - 3), at), ...words.slice(at + parts.length, at + parts.length + 1)];
  return at < 0 ? undefined : !near.some(({ text }) => /^(?:not?|without|don['’]t|exclud\w+|false|off)$/iu.test(text));
}

const INTRODUCED: Partial<Record<string, RegExp>> = {
  reason: /\b(?:because(?: of)?|since|due to|as it|reason(?: is|:))\s+(.+?)(?:[.!?]\s|[.!?]?$)/isu,
  title: /\b(?:about|titled|called|named)\s+(.+?)(?=[.!?]?$|[.!?;]\s|\s(?:because|with|to|for|on|at|from)\s)/isu,
  search: /\b(?:search for|look(?:ing)? (?:up|for)|about|for|on|at|in|matching|containing)\s+(.+?)[.!?]*$/isu,
  text: /(?:\b(?:saying|says?|with (?:the |a )?(?:text|message|note|comment))\b(?: that)?|:)\s*(.+)$/isu,
  place: /\b(?:in|at|near|for|of|about|from)\s+(?!(?:an?|the|my|this|that|it|all)\b)([\p{L}'’-]+)/iu,
};

/** Free text for a parameter: what follows its name ("priority: high", "city Denver"), or words that introduce its kind. */
export function findPhrase(parameter: Parameter, full: string, isLookup: boolean): string | undefined {
  const { name, kind, required } = parameter;
  const parts = nameWords(name);
  if (parts.length === 0 || !["word", "text", "name", "search"].includes(kind)) return undefined;
  const text = full.slice(0, 8000);
  const spelled = parts.map((word) => `[${word[0]?.toLowerCase()}${word[0]?.toUpperCase()}]${word.slice(1)}`);
  const label = `\\b${spelled.join("[\\s_]*")}(?:\\s*[:=]\\s*|\\s+(?:is|to|as|named|called)\\s+|\\s+(?=["“'\\p{Lu}]))`;
  const words = "[^\\s,;.!?]+(?: (?!(?:and|with|for|in|on|at|to)\\b)[^\\s,;.!?]+){0,4}";
  const [, quoted, plain] = new RegExp(`${label}(?:["“'](.{1,4000}?)["”']|(${words}))`, "su").exec(text) ?? [];
  const isReason = /reason|cause|why/iu.test(name);
  const form = isReason
    ? "reason"
    : /title|subject|topic|name/iu.test(name)
      ? "title"
      : kind === "word"
        ? "place"
        : kind;
  const introduced = form === "place" && !(isLookup && required) ? undefined : INTRODUCED[form]?.exec(text)?.[1];
  return (quoted ?? plain ?? introduced)?.trim().replace(/^["“'`]|["”'`]$/gu, "");
}
