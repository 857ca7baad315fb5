/** One place of a pattern: the characters it takes, and how many of them. */
interface Place {
  takes: (character: string) => boolean;
  min: number;
  max: number;
}

/** Longer patterns and texts are not judged. */
const MOST_UNITS = 500;

const SHORTHANDS: Readonly<Record<string, RegExp>> = {
  d: /\d/u,
  D: /\D/u,
  w: /\w/u,
  W: /\W/u,
  s: /\s/u,
  S: /\S/u,
};
const ATOM = /(\[(?:[^\]\\]|\\.)*\]|\\.|[^\\[\](){}|*+?^$])([*+?]|\{\d{1,4}(?:,\d{0,4})?\})?\??/suy;

/**
 * False where a text surely breaks an owner's pattern. Reads sequences of characters, classes and counts; what else a pattern
 * can say (groups, choices, look-around) is let pass, as the owner's runtime judges it. Never compiled: a pattern can be written
 * so that an engine tries for ever, and what runs here runs beside everybody's queries.
 */
export function fitsPattern(pattern: string, text: string): boolean {
  if (pattern.length > MOST_UNITS || text.length > MOST_UNITS) return true;
  const fromStart = pattern.startsWith("^");
  const toEnd = /(?:^|[^\\])(?:\\\\)*\$$/u.test(pattern);
  const places = readPlaces(pattern.slice(fromStart ? 1 : 0, toEnd ? -1 : undefined));
  if (!places) return true;
  const characters = Array.from(text);
  const reached = places.reduce(
    (starts, place) => advance(starts, place, characters),
    Array.from({ length: characters.length + 1 }, (_, at) => at === 0 || !fromStart),
  );
  return toEnd ? reached.at(-1) === true : reached.includes(true);
}

/** Where a match can stand after `place`, given where it can stand before: one pass, however much the counts leave open. */
function advance(starts: readonly boolean[], { takes, min, max }: Place, characters: readonly string[]): boolean[] {
  const last = characters.length;
  const runs = Array.from<number>({ length: last + 1 }).fill(0);
  for (let at = last - 1; at >= 0; at--) runs[at] = takes(characters[at]!) ? runs[at + 1]! + 1 : 0;
  const changes = Array.from<number>({ length: last + 2 }).fill(0);
  for (let at = 0; at <= last; at++) {
    const most = Math.min(max, runs[at]!);
    if (!starts[at] || most < min) continue;
    changes[at + min]!++;
    changes[at + most + 1]!--;
  }
  let open = 0;
  return starts.map((_, at) => (open += changes[at]!) > 0);
}

function readPlaces(pattern: string): Place[] | undefined {
  const places: Place[] = [];
  let at = 0;
  while (at < pattern.length) {
    ATOM.lastIndex = at;
    const [whole, atom, count] = ATOM.exec(pattern) ?? [];
    const takes = atom === undefined ? undefined : readAtom(atom);
    if (whole === undefined || !takes) return undefined;
    places.push({ takes, ...readCount(count) });
    at += whole.length;
  }
  return places;
}

function readCount(count: string | undefined): { min: number; max: number } {
  if (count === undefined) return { min: 1, max: 1 };
  if (count === "*" || count === "+") return { min: count === "+" ? 1 : 0, max: Infinity };
  if (count === "?") return { min: 0, max: 1 };
  const [min = "", max] = count.slice(1, -1).split(",");
  return { min: Number(min), max: max === undefined ? Number(min) : max === "" ? Infinity : Number(max) };
}

/** Undefined for what is not read: property escapes, back references, control escapes. */
function readAtom(atom: string): Place["takes"] | undefined {
  if (atom === ".") return (character) => !/[\n\r\u2028\u2029]/u.test(character);
  if (atom.startsWith("[")) return readClass(atom.slice(1, -1));
  if (!atom.startsWith("\\")) return (character) => character === atom;
  const name = atom.slice(1);
  const shorthand = SHORTHANDS[name];
  if (shorthand) return (character) => shorthand.test(character);
  return /[A-Za-z0-9]/u.test(name) ? undefined : (character) => character === name;
}

function readClass(content: string): Place["takes"] | undefined {
  const negated = content.startsWith("^");
  const parts = content.slice(negated ? 1 : 0).match(/\\.|[^\\]/gsu) ?? [];
  const members: Place["takes"][] = [];
  for (let i = 0; i < parts.length; i++) {
    const [first, dash, second] = parts.slice(i, i + 3).map(plain);
    if (first !== undefined && dash === "-" && parts[i + 1] === "-" && second !== undefined) {
      members.push((character) => character >= first && character <= second);
      i += 2;
    } else {
      const takes = parts[i] === "." ? (character: string) => character === "." : readAtom(parts[i]!);
      if (!takes) return undefined;
      members.push(takes);
    }
  }
  return (character) => members.some((takes) => takes(character)) !== negated;
}

/** The character that a part of a class stands for; undefined for a shorthand. */
function plain(part: string): string | undefined {
  if (!part.startsWith("\\")) return part;
  return /[A-Za-z0-9]/u.test(part.slice(1)) ? undefined : part.slice(1);
}
