import { type Steps, takeSteps } from "@patchbay/kit";

/** A regular expression whose time is proportional to its size times the text's length. */
export interface Pattern {
  test(text: string, steps: Steps): boolean;
}

/** Parts in all a schema's patterns, with the copies for counts such as `{1,2000}`. */
export const MOST_PARTS = 20_000;
const MOST_NESTED_GROUPS = 50;
/** The built-in engine takes nearly a millisecond to compile one `\p{…}`, and a 64 KB pattern can have thousands. */
const PARTS_OF_PROPERTY = 100;
/** Each run allocates memory for each node. */
const STEPS_OF_RUN = 20;

type Node =
  | { kind: "character"; takes: (codePoint: number) => boolean; next: number }
  | { kind: "split"; next: number; other: number }
  | { kind: "assertion"; sign: "^" | "$" | "\\b" | "\\B"; next: number }
  | { kind: "lookahead"; negated: boolean; inner: number; next: number }
  | { kind: "match" };

/**
 * Compiles a JSON Schema pattern (ECMAScript with the flag `u`) for an engine that never backtracks: patterns come from
 * callers, and one such as `(a+)+$` would block the built-in engine for years. Throws an error with a reason for an
 * invalid pattern, and for features that such an engine cannot match: back references, look-behind, modifiers. Takes
 * its size from `room`.
 */
export function compilePattern(source: string, room: Room = { parts: MOST_PARTS }): Pattern {
  takeParts(room, PARTS_OF_PROPERTY * (source.match(/\\p/gi)?.length ?? 0));
  try {
    RegExp(source, "u");
  } catch {
    throw new Error("is not a valid regular expression (ECMAScript, flag u)");
  }
  const program: Program = { nodes: [], room };
  const start = build(parse(source), program, add(program, { kind: "match" }));
  const { nodes } = program;
  return { test: (text, steps) => search(nodes, start, text, steps) };
}

type Tree =
  | { kind: "character"; takes: (codePoint: number) => boolean }
  | { kind: "assertion"; sign: "^" | "$" | "\\b" | "\\B" }
  | { kind: "lookahead"; negated: boolean; inner: Tree }
  | { kind: "sequence"; parts: Tree[] }
  | { kind: "choice"; options: Tree[] }
  | { kind: "repeat"; inner: Tree; min: number; max: number };

const ATOM =
  /\\u\{[0-9a-f]+\}|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\c[a-z]|\\p\{[^}]*\}|\\[^1-9kbpuxc]|\[(?:\\.|[^\]\\])*\]|[^\\^$*+?()[\]{}|]/isuy;
const QUANTIFIER = /([*+?]|\{(\d+)(,(\d*))?\})\??/uy;
const GROUP = /\((?:\?(?:(:)|(=)|(!)|<[^=!][^>]*>))?/uy;

/** Parses a valid pattern. */
function parse(source: string): Tree {
  let at = 0;
  const characters = new Map<string, Extract<Tree, { kind: "character" }>>();
  const take = (expression: RegExp): RegExpExecArray | null => {
    expression.lastIndex = at;
    const found = expression.exec(source);
    if (found) at += found[0].length;
    return found;
  };

  function choice(depth: number): Tree {
    if (depth > MOST_NESTED_GROUPS) throw new Error(`nests more than ${MOST_NESTED_GROUPS} groups`);
    const options = [sequence(depth)];
    while (source[at] === "|") {
      at++;
      options.push(sequence(depth));
    }
    return options.length === 1 ? options[0]! : { kind: "choice", options };
  }

  function sequence(depth: number): Tree {
    const parts: Tree[] = [];
    while (at < source.length && source[at] !== "|" && source[at] !== ")") parts.push(quantified(term(depth)));
    return { kind: "sequence", parts };
  }

  function quantified(inner: Tree): Tree {
    const found = take(QUANTIFIER);
    if (!found) return inner;
    const [, sign, least = "0", range, most = ""] = found;
    if (sign === "*") return { kind: "repeat", inner, min: 0, max: Infinity };
    if (sign === "+") return { kind: "repeat", inner, min: 1, max: Infinity };
    if (sign === "?") return { kind: "repeat", inner, min: 0, max: 1 };
    const min = Number(least);
    return { kind: "repeat", inner, min, max: range === undefined ? min : most === "" ? Infinity : Number(most) };
  }

  function term(depth: number): Tree {
    const sign = source[at]!;
    if (sign === "^" || sign === "$") {
      at++;
      return { kind: "assertion", sign };
    }
    const boundary = source.slice(at, at + 2);
    if (boundary === "\\b" || boundary === "\\B") {
      at += 2;
      return { kind: "assertion", sign: boundary };
    }
    if (sign === "(") return group(depth);
    const atom = take(ATOM)?.[0];
    if (atom === undefined) throw new Error("contains a back reference, which cannot be matched in bounded time");
    let character = characters.get(atom);
    if (!character) characters.set(atom, (character = { kind: "character", takes: characterTest(atom) }));
    return character;
  }

  function group(depth: number): Tree {
    const found = take(GROUP);
    if (!found || source[at] === "?")
      throw new Error("contains a look-behind or a modifier, which cannot be matched in bounded time");
    const inner = choice(depth + 1);
    at++;
    const negated = found[3] !== undefined;
    return found[2] !== undefined || negated ? { kind: "lookahead", negated, inner } : inner;
  }

  return choice(0);
}

/** Tests single characters with the built-in engine, which knows every class and cannot backtrack on one character. */
function characterTest(atom: string): (codePoint: number) => boolean {
  const expression = new RegExp(`^${atom}$`, "u");
  const ascii: (boolean | undefined)[] = [];
  return (codePoint) => {
    if (codePoint >= 128) return expression.test(String.fromCodePoint(codePoint));
    return (ascii[codePoint] ??= expression.test(String.fromCodePoint(codePoint)));
  };
}

/**
 * The number of parts that may still be built. Counts parts and not nodes, because an empty group has no node and can
 * be repeated.
 */
export interface Room {
  parts: number;
}

function takeParts(room: Room, count: number): void {
  room.parts -= count;
  if (room.parts < 0) throw new Error("is too large; use smaller counts, or maxLength");
}

interface Program {
  nodes: Node[];
  room: Room;
}

const add = ({ nodes }: Program, node: Node): number => nodes.push(node) - 1;

/** Adds the nodes of `tree`, which continue at `next`. Returns the first node. */
function build(tree: Tree, program: Program, next: number): number {
  takeParts(program.room, 1);
  switch (tree.kind) {
    case "character":
    case "assertion":
      return add(program, { ...tree, next });
    case "lookahead":
      return add(program, { ...tree, inner: build(tree.inner, program, add(program, { kind: "match" })), next });
    case "sequence":
      return tree.parts.reduceRight((after, part) => build(part, program, after), next);
    case "choice":
      return tree.options
        .map((option) => build(option, program, next))
        .reduceRight((other, first) => add(program, { kind: "split", next: first, other }));
    case "repeat":
      return repeat(tree, program, next);
  }
}

function repeat({ inner, min, max }: Extract<Tree, { kind: "repeat" }>, program: Program, next: number): number {
  let start = next;
  if (max === Infinity) {
    const loop = { kind: "split" as const, next, other: next };
    start = add(program, loop);
    loop.next = build(inner, program, start);
  } else {
    for (let i = min; i < max; i++)
      start = add(program, { kind: "split", next: build(inner, program, start), other: next });
  }
  for (let i = 0; i < min; i++) start = build(inner, program, start);
  return start;
}

const isWord = (codePoint: number | undefined): boolean =>
  codePoint !== undefined && /^\w$/u.test(String.fromCodePoint(codePoint));

/** True if the pattern matches anywhere in `text`. */
function search(nodes: readonly Node[], start: number, text: string, steps: Steps): boolean {
  const lookaheads = new Map<number, boolean>();

  /** Follows all alternatives in parallel. Enters each node at most once per text position, which bounds the time. */
  function run(first: number, from: number, anchored: boolean): boolean {
    let current: number[] = [];
    takeSteps(steps, STEPS_OF_RUN + nodes.length / 16);
    const entered = new Int32Array(nodes.length).fill(-1);
    for (let at = from; ;) {
      const waiting = at === from || !anchored ? [...current, first] : current;
      const characters: number[] = [];
      while (waiting.length > 0) {
        const index = waiting.pop()!;
        if (entered[index] === at) continue;
        entered[index] = at;
        takeSteps(steps);
        const node = nodes[index]!;
        if (node.kind === "match") return true;
        if (node.kind === "character") characters.push(index);
        else if (node.kind === "split") waiting.push(node.other, node.next);
        else if (node.kind === "assertion" ? holds(node.sign, at) : looks(node, at) !== node.negated)
          waiting.push(node.next);
      }
      const codePoint = text.codePointAt(at);
      if (codePoint === undefined || (anchored && characters.length === 0)) return false;
      current = [];
      for (const index of characters) {
        const node = nodes[index]!;
        if (node.kind === "character" && node.takes(codePoint)) current.push(node.next);
      }
      at += codePoint > 0xffff ? 2 : 1;
    }
  }

  function looks({ inner }: Extract<Node, { kind: "lookahead" }>, at: number): boolean {
    const key = inner * (text.length + 1) + at;
    let found = lookaheads.get(key);
    if (found === undefined) lookaheads.set(key, (found = run(inner, at, true)));
    return found;
  }

  function holds(sign: "^" | "$" | "\\b" | "\\B", at: number): boolean {
    if (sign === "^") return at === 0;
    if (sign === "$") return at === text.length;
    const before = at === 0 ? undefined : text.charCodeAt(at - 1);
    const boundary = isWord(before) !== isWord(text.codePointAt(at));
    return boundary === (sign === "\\b");
  }

  return run(start, 0, false);
}

const CHARACTERS = [...Array.from({ length: 95 }, (_, i) => ((i + 65) % 95) + 32), 0xe9, 0x65e5, 0x1f600, 9, 10];
const VARIANTS = [0, 1, 2, 3, 7];

/** Texts that a pattern probably matches, written from its parts. Empty for a pattern that cannot be read. */
export function textsLike(source: string): string[] {
  try {
    const tree = parse(source);
    return [...new Set(VARIANTS.map((variant) => write(tree, variant)))];
  } catch {
    return [];
  }
}

/** Each variant takes other choices and counts, and other characters one after the other. */
function write(whole: Tree, variant: number): string {
  let written = 0;
  const visit = (tree: Tree): string => {
    if (tree.kind === "sequence") return tree.parts.map(visit).join("");
    if (tree.kind === "choice") return visit(tree.options[variant % tree.options.length]!);
    if (tree.kind === "repeat")
      return Array.from({ length: Math.min(tree.max, Math.max(tree.min, variant)) }, () => visit(tree.inner)).join("");
    const taken = tree.kind === "character" ? CHARACTERS.filter(tree.takes) : [];
    return taken.length === 0 ? "" : String.fromCodePoint(taken[(variant * ++written) % taken.length]!);
  };
  return visit(whole);
}
