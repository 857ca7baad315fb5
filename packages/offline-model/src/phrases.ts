import type { JsonValue } from "@patchbay/protocol";
import type { KnownFunction } from "./function-set.ts";
import type { Parameter } from "./parameters.ts";
import type { Reading } from "./reading.ts";
import { accepts, list } from "./schema.ts";
import { isDoing, isLooking, isStopWord, nameWords, stem, type Word, wordsOf } from "./words.ts";

/** The enum members that the words of a text name, best first: all of their words, or half of them where nothing else comes near. */
export function membersNamed(parameter: Parameter, reading: Reading, fn: KnownFunction): JsonValue[] {
  const { one } = parameter;
  if (one.const !== undefined) return [one.const];
  const stems = new Set(reading.words.map((word) => word.stem));
  const own = new Set([...fn.stems, ...parameter.entity]);
  const rated = list(one.enum).map((member) => ({ member, share: shareNamed(member, stems, own, reading) }));
  const best = rated.filter(({ share }) => share >= 0.5).toSorted((a, b) => b.share - a.share);
  const [first, second] = best;
  if (first && second && first.share === second.share && first.share < 1) return [];
  return best.filter(({ share }) => share === first?.share).map(({ member }) => member);
}

function shareNamed(member: JsonValue, stems: ReadonlySet<string>, own: ReadonlySet<string>, reading: Reading): number {
  if (typeof member === "number")
    return reading.units.some((unit) => unit.values.some((value) => value.number === member)) ? 1 : 0;
  if (typeof member !== "string") return 0;
  const phrase = nameWords(member).join(" ").toLowerCase();
  if (phrase !== "" && wordsOf(reading.text.slice(0, 20_000)).length > 0 && saysPhrase(reading, phrase)) return 2;
  const words = wordsOf(nameWords(member).join(" ")).filter(
    (word) => !/^(?:a|an|the|of|by|is|it|in|to)$/iu.test(word.text),
  );
  const telling = words.filter((word) => !own.has(word.stem));
  if (telling.length === 0) return 0;
  const hits = telling.filter((word) => stems.has(word.stem)).length;
  return hits === 0 ? 0 : hits / telling.length;
}

function saysPhrase(reading: Reading, phrase: string): boolean {
  return ` ${reading.words.map((word) => word.text.toLowerCase()).join(" ")} `.includes(` ${phrase} `);
}

/** True or false where the text speaks of the parameter, undefined where it does not. */
export function findBoolean(parameter: Parameter, reading: Reading): boolean | undefined {
  const wanted = nameWords(parameter.name).filter(
    (word) => !/^(?:is|has|with|include|should|be|only|the)$/iu.test(word),
  );
  const at = reading.words.findIndex((word) => wanted.length > 0 && stem(wanted[0] ?? "") === word.stem);
  if (at < 0 || !wanted.every((name) => reading.words.some((word) => word.stem === stem(name)))) return undefined;
  const after = reading.words[at + wanted.length]?.text ?? "";
  if (/^(?:true|yes|on)$/iu.test(after)) return true;
  const before = reading.words
    .slice(Math.max(0, at - 3), at)
    .some((word) => /^(?:not?|without|never|exclud\w+|skip|hide|don't|don’t)$/iu.test(word.text));
  return !(before || /^(?:false|no|off)$/iu.test(after));
}

const SAYING =
  /(?:\b(?:saying|says?|stating|that reads?)\b(?: that)?|\b(?:with|and) (?:the |a )?(?:text|message|body|content|note|comment)\b:?|(?:text|message|body|note|comment)(?: is)?:)\s*(.+)$/isu;
const BECAUSE = /\b(?:because(?: of)?|since|due to|as it|reason(?: is|:))\s+(.+?)(?:[.!?]\s|[.!?]?$)/isu;
const ABOUT =
  /\b(?:about|titled|entitled|called|named|on the subject of)\s+(.+?)(?=[.!?]?$|[.!?;]\s|\s(?:saying|because|with|to|for|on|at|from|due)\s)/isu;
const SEARCHED =
  /\b(?:search(?:ing)?(?: \w+)? for|look(?:ing)? (?:up|for)|about|for|on|matching|containing|mentioning)\s+(.+?)[.!?]*$/isu;

/** Words for a parameter that takes them freely: what follows its name, or the turn of phrase that goes with its kind. */
export function findPhrase(parameter: Parameter, reading: Reading, stops: ReadonlySet<string>): string | undefined {
  const said = labelled(parameter, reading, stops) ?? phraseOfKind(parameter, reading.text.slice(0, 8000));
  const text = said
    ?.trim()
    .replace(/^["“'`]|["”'`]$/gu, "")
    .slice(0, 8000);
  return text && accepts(parameter.one, text, parameter.root) ? text : undefined;
}

function phraseOfKind({ kind, name }: Parameter, text: string): string | undefined {
  if (kind === "search") return SEARCHED.exec(text)?.[1];
  if (/reason|cause|why/iu.test(name)) return BECAUSE.exec(text)?.[1];
  if (/title|subject|topic|name/iu.test(name) && !/first|last|user|customer/iu.test(name)) return ABOUT.exec(text)?.[1];
  return kind === "text" ? SAYING.exec(text)?.[1] : undefined;
}

const LINK = /^(?:\s*[:=]\s*|\s+(?:is|to|as|named|called)\s+)/iu;

/** "city Denver", "priority: high", "set the color to dark green": the text after the parameter's own name. */
function labelled(parameter: Parameter, { text, words }: Reading, stops: ReadonlySet<string>): string | undefined {
  const name = nameWords(parameter.name).map(stem);
  if (!["word", "text", "name", "search", "id", "zip"].includes(parameter.kind)) return undefined;
  for (let at = 0; at + name.length <= words.length; at += 1) {
    if (!name.every((part, offset) => words[at + offset]?.stem === part)) continue;
    const end = words[at + name.length - 1]?.end ?? 0;
    const link = LINK.exec(text.slice(end))?.[0];
    const rest = text.slice(end + (link?.length ?? 0));
    if (link === undefined && !/^\s+["“'\p{Lu}]/u.test(rest)) continue;
    const run = upToBreak(rest, parameter.kind === "text" && !/title|subject/iu.test(parameter.name), stops);
    const isId = parameter.kind === "id" || parameter.kind === "zip";
    if (run !== "" && !(isId && !/^\S*[\d\p{Lu}]\S*$/u.test(run))) return run;
  }
  return undefined;
}

function upToBreak(rest: string, long: boolean, stops: ReadonlySet<string>): string {
  const quoted = /^\s*(["“'`])(.+?)["”'`](?=$|[\s,.;!?])/su.exec(rest)?.[2];
  if (quoted !== undefined) return quoted;
  const piece = (/^[^,;\n]*/u.exec(rest)?.[0] ?? "").replace(/[.!?]+(?:\s[\s\S]*)?$/u, "").trim();
  if (long) return piece;
  const run: Word[] = [];
  for (const word of wordsOf(piece)) {
    if (/^(?:and|with|for|in|on|at|because|to|from|using|via|then)$/iu.test(word.text) || stops.has(word.stem)) break;
    run.push(word);
  }
  return run.length === 0 || run.length > 5 ? "" : piece.slice(run[0]?.start ?? 0, run.at(-1)?.end ?? 0);
}

/** What follows a place word, in whatever case it was typed: the last resort for a question. */
export function findPlace({ text }: Reading): string | undefined {
  for (const match of text.matchAll(/\b(?:in|at|near|for|of|about|from)\s+((?:[\p{L}'’-]+\s?){1,4})/giu)) {
    const run: string[] = [];
    for (const word of wordsOf(match[1] ?? "")) {
      if (isStopWord(word.text) || isLooking(word.concept) || isDoing(word.concept)) break;
      run.push(word.text);
    }
    if (run.length > 0) return run.join(" ");
  }
  return undefined;
}

/** "to 12 Oak Street, Flat 2, Denver, CO, USA, 80279": as many pieces as there are members to fill, in their order. */
export function findSeries(parameters: readonly Parameter[], text: string): string[] | undefined {
  if (parameters.length < 3) return undefined;
  const listed = /\b(?:to|at|as|is)\b[:\s]+([^\n]*)$/iu;
  for (let rest = text.slice(0, 4000), match = listed.exec(rest); match; match = listed.exec(rest)) {
    rest = match[1] ?? "";
    const pieces = rest.replace(/[.!?]+\s*$/u, "").split(/\s*,\s*/u);
    const fits =
      pieces.length === parameters.length &&
      pieces.every(
        (piece, at) =>
          piece !== "" &&
          piece.length < 80 &&
          (parameters[at]?.kind !== "zip" || /\d/u.test(piece)) &&
          accepts(parameters[at]?.one, piece, parameters[at]?.root ?? {}),
      );
    if (fits) return pieces;
  }
  return undefined;
}
