import { compactOf, normalForm, NUMBER, NUMBER_WORDS, tokensOf } from "./forms.ts";

/** Words with which a sentence begins that asks for information. */
const QUESTIONS = new Set(
  "did does do has have had was were is are who whom whose when where why how what which".split(" "),
);
const REFUSALS = new Set(
  "not don't dont doesn't never no without except stop block cancel refuse reject avoid instead fraud fraudulent fake suspicious scam wrong nicht kein keine nie".split(
    " ",
  ),
);
/** Words that name no deed, also where a clause begins. */
const FILLERS = new Set(
  "a an the my our his her their your this that these those to for from of in on at with by into as per via it him them me us you i we he she they please kindly then also both all each some any same new can could would will should may must shall want need like id i'd let lets let's".split(
    " ",
  ),
);
const JOINTS = new Set(["and", "then", "but", "or", "also"]);
/** Words after which a word is a deed. Elsewhere it names a thing: "show the mail from bob@x.com" asks for no mail to Bob. */
const LEADS = new Set(
  "to please kindly now just i we you he she they can could will would should may must shall let lets let's".split(" "),
);
/** Words for what the clause before names. */
const PRONOUNS = new Set(["it", "them"]);
/** Words before what a thing comes from. */
const SOURCES = new Set(["from", "by", "of", "in", "at", "with"]);
/** Deeds whose object is not where they go: "report A to B" asks for B only. */
const TO_ONLY = new Set(["report"]);
/** Words of the longest name that a caller writes without quotes. */
const PHRASE = 6;

/** The words by which callers ask for a function. */
export interface Deeds {
  words: ReadonlySet<string>;
  /** The owner's own, which ask wherever they are in a clause. */
  verbs: ReadonlySet<string>;
  /** True for a function that changes nothing: a caller who names a value without a refusal asks for it. */
  isRead: boolean;
}

/** What callers wrote: their queries, and the values of the context. */
export interface CallersWords {
  /** True if the value is one whole token, a phrase of whole tokens, or a value of the context. */
  has(form: string): boolean;
  /** True if a sentence with the value asks for one of these deeds with it. Values of the context ask for every deed. */
  asks(form: string, deeds: Deeds): boolean;
  /** The forms of the values and phrases with which a sentence asks for one of these deeds. */
  named(deeds: Deeds): Iterable<string>;
}

export function callersWords(texts: readonly string[], context: readonly string[]): CallersWords {
  const sentences = texts.flatMap(sentencesOf);
  const known = new Set(context);
  return {
    has: (form) => known.has(form) || sentences.some(({ tokens }) => placesOf(tokens, form).length > 0),
    asks: (form, deeds) =>
      known.has(form) || sentences.some((one) => placesOf(one.tokens, form).some((at) => asksAt(one, at, deeds))),
    *named(deeds) {
      yield* known;
      for (const one of sentences)
        for (const at of one.tokens.keys())
          if (asksAt(one, at, deeds))
            for (let end = at + 1; end <= Math.min(at + PHRASE, one.tokens.length); end++) {
              const form = normalForm(one.tokens.slice(at, end).join(" "));
              if (form !== undefined && isContent(form)) yield form;
            }
    },
  };
}

/** True for a word that can name something. */
export const isContent = (form: string): boolean => form.length > 2 && !FILLERS.has(form);

/** A sentence of the caller, word by word. */
interface Sentence {
  tokens: readonly string[];
  /** Whether the word at each place is written as a name. */
  names: readonly boolean[];
}

function sentencesOf(text: string): Sentence[] {
  return text.split(/(?<=[.!?;])\s+|\n+/u).map((part) => {
    // A comma that ends a word begins a new clause.
    const words = part
      .replace(/,\s+/gu, " and ")
      .split(/\s+/u)
      .filter((word) => tokensOf(word).length > 0);
    return {
      tokens: words.flatMap(tokensOf),
      names: words.map((word, at) => at > 0 && /^[^\p{L}]*\p{Lu}/u.test(word)),
    };
  });
}

/** Where the value begins in a sentence. */
function placesOf(tokens: readonly string[], form: string): number[] {
  const words = form.split(" ");
  const isNumber = NUMBER.test(form);
  return tokens.flatMap((_, at) => {
    if (words.every((word, i) => tokens[at + i] === word)) return [at];
    if (!isNumber) return [];
    for (let count = 1; count <= NUMBER_WORDS && at + count <= tokens.length; count++)
      if (compactOf(tokens.slice(at, at + count).join(" ")) === form) return [at];
    return [];
  });
}

/** True if the sentence asks for one of the deeds with what is at a place. */
function asksAt(one: Sentence, place: number, deeds: Deeds): boolean {
  const { tokens } = one;
  const { words, isRead } = deeds;
  // "Cancel o-1, it is no longer needed" gives a reason.
  const isReason = (at: number): boolean => at > place && tokens[at + 1] === "longer";
  if (tokens.some((token, at) => REFUSALS.has(token) && !words.has(stemOf(token)) && !isReason(at))) return false;
  if (isRead) return true;
  if (QUESTIONS.has(tokens[0] ?? "")) return false;
  const { deed, at } = deedAt(one, place, deeds);
  const isAsked = (asked: string): boolean =>
    words.has(asked) && (!TO_ONLY.has(asked) || tokens.slice(at, place).includes("to"));
  // "Draft a mail to Carla and send it", but not "Read the mail from Carla and forward it".
  const isSource = tokens.slice(at, place).some((token) => SOURCES.has(token));
  return isAsked(deed) || (!isSource && isAsked(deedWithIt(tokens, place)));
}

/** The deed of a later clause that ends with "it"; empty without such a clause. */
function deedWithIt(tokens: readonly string[], place: number): string {
  const at = tokens.findIndex((token, i) => i > place && PRONOUNS.has(token) && isEnd(tokens[i + 1]));
  return at >= 0 && JOINTS.has(tokens[at - 2] ?? "") ? stemOf(tokens[at - 1]!) : "";
}

const isEnd = (token: string | undefined): boolean => token === undefined || JOINTS.has(token);

/** The word for the deed that a sentence states before a place: the last deed, or the first word of the last clause. */
function deedAt({ tokens, names }: Sentence, place: number, { words, verbs }: Deeds): { deed: string; at: number } {
  let found = { deed: "", at: 0 };
  let begins = true;
  for (const [at, token] of tokens.slice(0, place).entries()) {
    const deed = stemOf(token);
    const before = tokens[at - 1];
    const leads = before === undefined || LEADS.has(before) || JOINTS.has(before) || before.endsWith("ly");
    if (verbs.has(deed) || (leads && words.has(deed))) [found, begins] = [{ deed, at }, false];
    else if (JOINTS.has(token)) begins = true;
    else if (begins && !FILLERS.has(token)) {
      // A list of values and names continues the deed.
      if (/^[\p{L}'-]+$/u.test(token) && !names[at]) found = { deed: words.has(deed) ? "" : deed, at };
      begins = false;
    }
  }
  return found;
}

/** Deeds that callers name in different words. */
const SAME = [
  "send mail email e-mail message forward reply respond write tell notify text answer report ask",
  "pay transfer send wire remit settle",
  "share give invite add grant",
  "delete remove erase clear drop",
  "cancel end stop",
  "book reserve order schedule make",
  "create add make new open set write save",
  "update change edit modify set correct move",
  "post publish announce message write send share",
  "refund return reimburse",
].map((words) => words.split(" "));

/** The deed in a function's name, what its description says that it does, the owner's own words, and those that mean the same. */
export function deedsOf({ name, description, verbs = [], isRead }: DescribedDeed): Deeds {
  const named = name
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/);
  // "Mails a file to a person, and notes it." says what it does with the first word, and with words after a joint.
  const described = [...description.matchAll(/(?:^|\band |, )([A-Za-z]+s)\b/g)].map(([, verb]) => verb!.toLowerCase());
  const guests = /\b(guest|attendee|invitation)s?\b/i.test(description) ? ["invite"] : [];
  const known = new Set(SAME.flat());
  const deed = named.find((word) => known.has(word)) ?? named[0]!;
  const theirs = verbs.flatMap(tokensOf).map(stemOf);
  const own = [...[deed, ...described, ...guests].map(stemOf), ...theirs];
  const same = SAME.filter((words) => words.some((word) => own.includes(stemOf(word))));
  return { words: new Set([...own, ...same.flat().map(stemOf)]), verbs: new Set(theirs), isRead };
}

interface DescribedDeed {
  name: string;
  description: string;
  verbs?: readonly string[] | undefined;
  isRead: boolean;
}

/** A word without the ending of its form. */
function stemOf(word: string): string {
  const stem = word.toLowerCase().replace(/(ment|ing|ed|es|s|e)$/, "");
  return stem.length < 3 ? word.toLowerCase() : stem.replace(/(.)\1$/, "$1");
}
