/** Strings are matched to be skipped: what they hold are not numbers. */
const STRING_OR_NUMBER = /"(?:[^"\\]+|\\.)*"|-?\d+(\.\d+)?([eE][+-]?\d+)?/gs;
const SHOWN_UNITS = 40;

/**
 * The first number of a valid JSON text that reading changes: one too large (`1e400`) or too small for a double, or an integer
 * whose digits a double cannot keep (`9007199254740993`). Fractions are rounded to the nearest double, as by every JSON reader.
 */
export function inexactNumber(json: string): string | undefined {
  for (const [text, fraction, exponent] of json.matchAll(STRING_OR_NUMBER)) {
    if (text.startsWith('"')) continue;
    if (isChanged(text, fraction !== undefined || exponent !== undefined))
      return text.length > SHOWN_UNITS ? `${text.slice(0, SHOWN_UNITS)}…` : text;
  }
  return undefined;
}

function isChanged(text: string, isFraction: boolean): boolean {
  const value = Number(text);
  if (!Number.isFinite(value)) return true;
  if (value === 0) return /[1-9]/.test(text.replace(/[eE].*/, ""));
  // The digits of a finite double are few: converting them costs nothing that the text's length could raise.
  return !isFraction && !Number.isSafeInteger(value) && BigInt(value) !== BigInt(text);
}
