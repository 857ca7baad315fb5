/** Characters that end no token: those of addresses, accounts, paths and URLs. */
const AROUND = /^[^\p{L}\p{N}/@#+~]+|[^\p{L}\p{N}/@#+%=&]+$/gu;
const INVISIBLE = /[\u00AD\u200B-\u200F\u202A-\u202E\u2060-\u2064\uFEFF]/gu;
/** Separators within an account or telephone number. */
const SEPARATORS = /[\s().\-/]/g;
/** An account, card or telephone number without its separators. */
export const NUMBER = /^\+?[\p{Lu}\p{Ll}]{0,4}\d[\p{L}\d]{5,}$/u;
/** Words that may be written as one number. */
export const NUMBER_WORDS = 10;
/** Shorter numbers are parts of dates and amounts. */
const DIGITS = 4;

/** The words of a text, each one token: an address, an account, a URL, a path or a file name is not divided. */
export function tokensOf(text: string): string[] {
  return text
    .normalize("NFKC")
    .replace(INVISIBLE, "")
    .split(/\s+/u)
    .map(tokenOf)
    .filter((token) => token !== "");
}

function tokenOf(word: string): string {
  const bare = word
    .replace(AROUND, "")
    .replace(/^mailto:/i, "")
    .toLowerCase();
  return bare.endsWith("/") && bare.includes("://") ? bare.replace(/\/+$/, "") : bare.replace(/['’]s$/, "");
}

export const compactOf = (text: string): string | undefined => {
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
