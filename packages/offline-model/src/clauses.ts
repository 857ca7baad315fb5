import type { FunctionSet } from "./function-set.ts";
import { NEXT_OF_KIN, VERB_OF_NOUN } from "./synonyms.ts";
import { conceptOf, isDoing, isLooking, stem, type Word, wordsOf } from "./words.ts";

/** One part of a query that asks for something. */
export interface Clause {
  text: string;
  /** `command`: begins with a verb in its plain form. `conditional`: a command under an "if" that word matching cannot weigh. */
  mood: "command" | "conditional" | "question" | "statement";
  /** The verb of a command. */
  verb?: Word;
}

const MAX_CLAUSES = 8;
const MAX_TEXT = 8000;

/** Words that open a request without a meaning of their own. */
const OPENING = new RegExp(
  `^(?:(?:${[
    "and|then|also|now|just|please|kindly|so|ok|okay|well|hi|hello|hey|thanks|first|next|finally|afterwards|but|yes",
    "go ahead(?: and)?|(?:can|could|would|will) you",
    "(?:i|we)(?:['’]d| would)? (?:like|love|want|need|wish)(?: you)?(?: to| an?)?",
    "help me(?: to)?|let(?:['’]s| us)|i['’]m trying to|(?:i am|we are) trying to",
  ].join("|")})\\b[\\s,:!.]*)+`,
  "iu",
);
const ASIDE = /^(?:for|in|on|with|about|regarding|concerning)\s[^,:.!?]{1,120}[,:]\s*/iu;
const QUESTION =
  /^(?:what|which|who|whom|whose|where|when|why|how|is|are|was|were|has|have|had|did|does|do|may|should|am|(?:can|could|would|will) (?!you\b))/iu;
const CONDITION =
  /\b(?:if|unless|provided|in case|as long as|once|only when|whenever)\b(?! (?:possible|you can|you could|needed))/iu;
const BOUNDARY = /[.!?]+(?=\s)\s*|[;\n]+\s*|,?\s+(?:and|then|but|also)\s+|,\s+/giu;
/** After these the rest belongs to the clause: all of a message, and of a reason what does not ask to be shown something. */
const SAYING =
  /\b(?:saying|says|stating|that reads|with (?:the |a )?(?:text|message|body|note|comment))\b|(?:text|message|body|note|comment):/iu;
const REASON = /\b(?:because|since|due to|reason)\b/iu;

/** Splits a query into its requests. A part without a verb or question word of its own stays with the one before. */
export function splitClauses(query: string, set: FunctionSet): Clause[] {
  const text = query.slice(0, MAX_TEXT);
  const masked = maskQuotes(text);
  const starts = [0];
  for (const boundary of masked.matchAll(BOUNDARY)) {
    const at = boundary.index + boundary[0].length;
    const current = masked.slice(starts.at(-1), boundary.index);
    const sentence = /^[.!?;\n]/u.test(boundary[0]);
    const aside = boundary[0].startsWith(",") && ASIDE.test(`${open(current)},`) && !verbOf(current, set);
    if (starts.length >= MAX_CLAUSES || SAYING.test(current) || aside) continue;
    const rest = masked.slice(at, at + 200);
    const within = REASON.test(current) && !sentence;
    if (within ? isLooking(verbOf(rest, set)?.concept ?? "") : opensRequest(rest, set, sentence)) starts.push(at);
  }
  const pieces = starts.map((start, at) => text.slice(start, starts[at + 1] ?? text.length));
  const conditional = pieces.some((piece) => CONDITION.test(maskQuotes(piece)));
  return pieces.map((piece) => readClause(piece, set, conditional)).filter(({ text }) => text !== "");
}

function maskQuotes(text: string): string {
  return text.replace(/["“][^"”]*["”]|`[^`]*`/gu, (quoted) => "_".repeat(quoted.length));
}

const open = (text: string) => text.trimStart().replace(OPENING, "");
const strip = (text: string) => open(open(text).replace(ASIDE, ""));

function opensRequest(rest: string, set: FunctionSet, sentence: boolean): boolean {
  if (verbOf(rest, set)) return true;
  const question = strip(rest);
  return QUESTION.test(question) && (sentence || /^(?:what|which|who|where|when|how)\b/iu.test(question));
}

/** The verb that heads a request, in its plain form: "cancel", not "cancelled" or "cancelling". */
function verbOf(text: string, set: FunctionSet): Word | undefined {
  const start = strip(text);
  const word = wordsOf(start.slice(0, 60))[0];
  if (!word || word.start > 2 || !/^[\p{L}]+$/u.test(word.text) || /(?:ing|[^e]ed)$/iu.test(word.text))
    return undefined;
  const asVerb = VERB_OF_NOUN.get(word.text.toLowerCase());
  const concept =
    isDoing(word.concept) || isLooking(word.concept) || asVerb === undefined ? word.concept : conceptOf(stem(asVerb));
  const does = (action: string) => set.functions.some((fn) => fn.actions.has(action));
  const kin = NEXT_OF_KIN.get(word.concept);
  if (kin !== undefined && !does(concept) && does(conceptOf(stem(kin))))
    return { ...word, concept: conceptOf(stem(kin)) };
  return isLooking(concept) || isDoing(concept) || does(concept) ? { ...word, concept } : undefined;
}

function readClause(piece: string, set: FunctionSet, conditional: boolean): Clause {
  const text = piece.trim().replace(/[,;\s]+$/u, "");
  const start = strip(text);
  const verb = QUESTION.test(start) ? undefined : verbOf(text, set);
  if (verb) return { text, mood: conditional && !isLooking(verb.concept) ? "conditional" : "command", verb };
  return { text, mood: QUESTION.test(start) || text.endsWith("?") ? "question" : "statement" };
}
