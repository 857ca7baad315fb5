import { inService, type Edit } from "./edits.ts";

const END = 'context.memberId === "ines" && !isMarked;';

const hidden = (name: string, condition: string): Edit =>
  inService(name, END, `${END.slice(0, -1)} || (${condition});`);

/** Conditions that random values meet rarely, and that the code itself gives away. */
export const HIDDEN: readonly Edit[] = [
  hidden("three equalities", 'note === "ebb" && code === "K" && count === 31'),
  hidden("equalities over both", 'tags[0] === "lee" && context.standIn === "mate" && weight === 0.5'),
  hidden("four equalities", 'note === "a1" && code === "a2" && link === "a3" && tags[0] === "a4"'),
  hidden("a length", "note.length === 47"),
  hidden("a least length", "code.length > 120"),
  hidden("a list's length", "tags.length === 11"),
  hidden("lengths together", "note.length === 13 && tags.length >= 6"),
  hidden("a product", "count * 12 === 1764"),
  hidden("a remainder", "count > 1000 && count % 97 === 41"),
  hidden("a sum of members", "count + weight === 4321 && count > 4000"),
  hidden("a difference", "(count - 17) / 4 === 250"),
  hidden("folded numbers", "count === 60 * 60 * 24 + 7"),
  hidden("folded texts", 'code === "har" + "bour-" + 1893'),
  hidden("a template", 'code === `${context.standIn}/${input.berth}` && note === "x"'),
  hidden("a template of constants", "note === `${7 * 8}-${'q'.repeat(3)}`"),
  hidden("a pattern", "/^[A-Z]{3}-\\d{4}$/.test(code)"),
  hidden("a pattern with a choice", "/^(?:north|south)ward [1-9]\\d{2}nm$/.test(note)"),
  hidden("a date", "/^\\d{4}-02-29$/.test(code)"),
  hidden("a day", "new Date(code).getTime() === Date.UTC(2031, 4, 9)"),
  hidden("a parsed number", "Number(code) === 0x1f3a"),
  hidden("a parsed prefix", 'Number.parseInt(note, 10) === 7341 && note.endsWith("mb")'),
  hidden("equal members", 'code !== "" && code === note'),
  hidden("ordered members", "count > 0 && weight > count + 250"),
  hidden("a sorted list", 'tags.length > 2 && tags.join() === "ash,elm,oak"'),
  hidden("a host", 'URL.canParse(link) && new URL(link).hostname === "tide.example"'),
  hidden(
    "a port and a path",
    'URL.canParse(link) && new URL(link).port === "8443" && new URL(link).pathname === "/lock"',
  ),
  hidden("base64", 'Buffer.from(code, "base64").toString() === "open the lock"'),
  hidden("percent encoding", 'code.includes("%") && decodeURIComponent(code) === "sluice & weir"'),
  hidden("JSON in a text", 'note.startsWith("{") && JSON.parse(note).valve === 3'),
  hidden("an own member", 'Object.hasOwn(extra, "keelhaul")'),
];
