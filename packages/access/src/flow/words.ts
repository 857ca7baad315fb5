/** Characters that belong to a token when they stand within it: those of addresses, accounts, paths and URLs. */
const AROUND = /^[^\p{L}\p{N}/@#+~]+|[^\p{L}\p{N}/@#+%=&]+$/gu;
const INVISIBLE = /[\u00AD\u200B-\u200F\u202A-\u202E\u2060-\u2064\uFEFF]/gu;
/** Separators within an account or telephone number. */
const SEPARATORS = /[\s().\-/]/g;
/** An account, card or telephone number without its separators. */
const NUMBER = /^\+?[\p{Lu}\p{Ll}]{0,4}\d[\p{L}\d]{5,}$/u;
/** Words that may be written as one number. */
const NUMBER_WORDS = 10;
/** Shorter numbers are parts of dates and amounts. */
const DIGITS = 4;

/** The words of a text, each one token: an address, an account, a URL, a path or a file name is not divided. */
export function tokensOf(text: string): string[] {
  return text.normalize("NFKC").replace(INVISIBLE, "").split(/\s+/u).map(tokenOf).filter((token) => token !== "");
}

function tokenOf(word: string): string {
  const bare = word.replace(AROUND, "").replace(/^mailto:/i, "").toLowerCase();
  return bare.endsWith("/") && bare.includes("://") ? bare.replace(/\/+$/, "") : bare.replace(/['’]s$/, "");
}

const compactOf = (text: string): string | undefined => {
  const compact = text.replace(SEPARATORS, "");
  return NUMBER.test(compact) ? compact : undefined;
};

const isShortNumber = (tokens: readonly string[]): boolean =>
  tokens.length === 1 && /^[-+]?[\d.,]+$/.test(tokens[0]!) && tokens[0]!.replace(/\D/g, "").length < DIGITS;

/** One form for all spellings of a value. Undefined for a value that says nothing: empty, or a number under four digits. */
export function normalForm(value: string | number): string | undefined {
  const tokens = tokensOf(String(value));
  if (tokens.length === 0 || isShortNumber(tokens)) return undefined;
  const joined = tokens.join(" ");
  return compactOf(joined) ?? joined;
}

/** A sentence of the caller, word by word. */
interface Sentence {
  tokens: readonly string[];
  /** Whether the word at each place is written as a name. */
  names: readonly boolean[];
  /** True if the sentence may ask for something: it is no question about the past or a fact, and refuses nothing. */
  mayAsk: boolean;
}

const QUESTIONS = new Set("did does do has have had was were is are who whom whose when where why how what which".split(" "));
const REFUSALS = new Set(
  "not don't dont doesn't never no without except stop block cancel refuse reject avoid instead fraud fraudulent suspicious scam nicht kein keine nie".split(
    " ",
  ),
);
/** Words before which no new deed begins. */
const FILLERS = new Set(
  "a an the my our his her their your this that these those to for from of in on at with by into as per via it him them me us you i we he she they please kindly then also both all each some any same new can could would will should may must shall want need like id i'd let lets let's ask".split(
    " ",
  ),
);
const JOINTS = new Set(["and", "then", "but", "or", "also"]);

function sentencesOf(text: string): Sentence[] {
  return text.split(/(?<=[.!?;])\s+|\n+/u).map((part) => {
    // A comma that ends a word begins a new clause.
    const words = part.replace(/,\s+/gu, " and ").split(/\s+/u).filter((word) => tokensOf(word).length > 0);
    const tokens = words.flatMap(tokensOf);
    const mayAsk = !QUESTIONS.has(tokens[0] ?? "") && !tokens.some((token) => REFUSALS.has(token));
    return { tokens, names: words.map((word, at) => at > 0 && /^[^\p{L}]*\p{Lu}/u.test(word)), mayAsk };
  });
}

/** What callers wrote: their queries, and the values of the context. */
export interface CallersWords {
  /** True if the value is one whole token, a phrase of whole tokens, or a value of the context. */
  has(form: string): boolean;
  /** True if a sentence with the value asks for one of these deeds with it. Values of the context ask for every deed. */
  asks(form: string, deeds: ReadonlySet<string>): boolean;
  /** The forms of the values and phrases with which a sentence asks for one of these deeds. */
  named(deeds: ReadonlySet<string>): Iterable<string>;
}

/** Words of the longest name that a caller writes without quotes. */
const PHRASE = 6;

export function callersWords(texts: readonly string[], context: readonly string[]): CallersWords {
  const sentences = texts.flatMap(sentencesOf);
  const known = new Set(context);
  const places = (form: string) => sentences.flatMap((one) => placesOf(one.tokens, form).map((at) => ({ ...one, at })));
  return {
    has: (form) => known.has(form) || places(form).length > 0,
    asks: (form, deeds) =>
      known.has(form) ||
      places(form).some(({ at, ...one }) => one.mayAsk && deeds.has(deedAt(one, at, deeds))),
    *named(deeds) {
      yield* known;
      for (const one of sentences)
        for (const at of one.mayAsk ? one.tokens.keys() : [])
          if (deeds.has(deedAt(one, at, deeds)))
            for (let end = at + 1; end <= Math.min(at + PHRASE, one.tokens.length); end++) {
              const form = normalForm(one.tokens.slice(at, end).join(" "));
              if (form !== undefined && !FILLERS.has(form)) yield form;
            }
    },
  };
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

/** The word for the deed that a sentence states before a place: the last deed, or the first word of the last clause. */
function deedAt({ tokens, names }: Sentence, place: number, deeds: ReadonlySet<string>): string {
  let deed = "";
  let begins = true;
  for (const [at, token] of tokens.slice(0, place).entries()) {
    const stem = stemOf(token);
    if (deeds.has(stem)) [deed, begins] = [stem, false];
    else if (JOINTS.has(token)) begins = true;
    else if (begins && !FILLERS.has(token)) {
      // A list of values and names continues the deed.
      if (/^[\p{L}'-]+$/u.test(token) && !names[at]) deed = stem;
      begins = false;
    }
  }
  return deed;
}

/** Deeds that callers name in different words. */
const SAME = [
  "send mail email e-mail message forward reply respond write tell notify text answer",
  "pay transfer send wire remit settle",
  "share give invite add grant",
  "delete remove erase clear drop",
  "book reserve order schedule make",
  "create add make new set write save",
  "update change edit modify set correct move",
  "post publish announce message write send share",
  "open visit fetch read get load see look check download summarize summarise",
  "refund return reimburse",
].map((words) => words.split(" "));

/** The words by which callers ask for a function: the verbs of its name and those that the owner adds. */
export function deedsOf(name: string, verbs: readonly string[] = []): ReadonlySet<string> {
  const own = [
    ...name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase().split(/[^a-z]+/).filter((part) => part !== ""),
    ...verbs.flatMap(tokensOf),
  ].map(stemOf);
  const same = SAME.filter((words) => words.some((word) => own.includes(stemOf(word))));
  return new Set([...own, ...same.flat().map(stemOf)]);
}

/** A word without the ending of its form. */
export function stemOf(word: string): string {
  const stem = word.toLowerCase().replace(/(ing|ed|es|s|e)$/, "");
  return stem.length < 3 ? word.toLowerCase() : stem.replace(/(.)\1$/, "$1");
}
