/** Letters of other scripts that look like Latin ones. */
const LOOKALIKES: Record<string, string> = { a: "а", c: "с", e: "е", i: "і", o: "о", p: "р", s: "ѕ", x: "х", y: "у" };

/** Names that every JavaScript object knows. */
export const INHERITED_NAMES = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf"];

/** Other ways to write a name, none of which means it: cases, look-alikes, things one does not see, and things around it. */
export function spellingsOf(name: string): string[] {
  const middle = Math.ceil(name.length / 2);
  const spellings = [
    name.toUpperCase(),
    name.toLowerCase(),
    name.charAt(0).toUpperCase() + name.slice(1),
    name.replaceAll(/(.)(.?)/g, (_, first: string, second: string) => first.toUpperCase() + second),
    name.replaceAll(/[a-z]/g, (letter) => LOOKALIKES[letter] ?? letter),
    name.replaceAll(/[!-~]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 0xfee0)),
    `${name.slice(0, middle)}\u200b${name.slice(middle)}`,
    `\ufeff${name}`,
    `${name} `,
    ` ${name}`,
    `${name}\n`,
    `${name}\0`,
    name.replaceAll("_", "."),
    name.replaceAll(/[._]/g, "-"),
    name.replaceAll(".", "_"),
    name.replaceAll(/[._-]/g, ""),
    `functions.${name}`,
    `./${name}`,
    encodeURIComponent(`${name}?`),
    `"${name}"`,
  ];
  return [...new Set(spellings)].filter((spelling) => spelling !== name);
}
