/**
 * Blank or invisible characters that spreadsheets may skip: all kinds of spaces, controls, formats such as U+200B, lone
 * marks.
 */
const BLANK = /^[\s\p{C}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}]*/u;
/** U+2212 is the minus sign, to which NFKD reduces U+207B. */
const FORMULA = /^[=+\-@\u2212]/;

/**
 * A CSV cell by RFC 4180. Spreadsheets execute a text that begins like a formula, some also after blanks and in
 * full-width characters, so such a text gets an apostrophe.
 */
export function csvCell(value: string | number): string {
  if (typeof value === "number") return String(value);
  const blank = BLANK.exec(value)![0];
  const first = value.slice(blank.length, blank.length + 2).normalize("NFKD");
  const text = /[\t\r\n]/.test(blank) || FORMULA.test(first) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
