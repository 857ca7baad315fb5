import { mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  keyOf,
  type RecordedAnswer,
  type RecordedMessage,
  type RecordedRequest,
  type RecordedSettings,
} from "./request.ts";

/** One recorded turn; numbers are positions in its tape's lists. */
interface TapeTurn {
  key: string;
  system: number;
  functions: number;
  messages: number[];
  settings: RecordedSettings;
  answer: RecordedAnswer;
}

/** A recording's file. It contains once what several turns share. */
export interface Tape {
  recording: 1;
  systems: string[][];
  functions: Record<string, string>[];
  messages: RecordedMessage[];
  turns: TapeTurn[];
}

/** A turn as recorded, with its source file. */
export interface Recording {
  file: string;
  /** Its number in the file, from 1. */
  number: number;
  key: string;
  request: RecordedRequest;
  answer: RecordedAnswer;
}

export function emptyTape(): Tape {
  return { recording: 1, systems: [], functions: [], messages: [], turns: [] };
}

/** Adds a turn, unless the tape already has an equal request with an equal answer. */
export function addTurn(tape: Tape, request: RecordedRequest, answer: RecordedAnswer): void {
  const key = keyOf(request);
  const latest = tape.turns.findLast((turn) => turn.key === key);
  if (latest && JSON.stringify(latest.answer) === JSON.stringify(answer)) return;
  tape.turns.push({
    key,
    system: indexOf(tape.systems, request.system),
    functions: indexOf(tape.functions, request.functions),
    messages: request.messages.map((message) => indexOf(tape.messages, message)),
    settings: request.settings,
    answer,
  });
}

function indexOf<T>(list: T[], item: T): number {
  const text = JSON.stringify(item);
  const known = list.findIndex((other) => JSON.stringify(other) === text);
  return known === -1 ? list.push(item) - 1 : known;
}

/** Writes a complete file in one step, so that a reader never sees half a file. */
export function writeTape(file: string, tape: object): void {
  mkdirSync(dirname(file), { recursive: true });
  const unfinished = `${file}.part`;
  writeFileSync(unfinished, `${JSON.stringify(tape, null, 2)}\n`);
  renameSync(unfinished, file);
}

/** Every turn in a file, or in a folder's JSON files. Throws an error that describes what is wrong. */
export function readRecordings(path: string): Recording[] {
  const files = filesOf(path);
  if (files.length === 0) throw new Error(`${path} holds no recording: make one first, by record.`);
  return files.flatMap(recordingsIn);
}

function filesOf(path: string): string[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) throw new Error(`There is no recording at ${path}: make one first, by record.`);
  if (!found.isDirectory()) return [path];
  const names = readdirSync(path).filter((name) => name.endsWith(".json"));
  return names.toSorted().map((name) => join(path, name));
}

function recordingsIn(file: string): Recording[] {
  const tape = parseTape(file);
  return tape.turns.map((turn, index) => ({
    file: basename(file),
    number: index + 1,
    key: turn.key,
    request: {
      system: tape.systems[turn.system]!,
      functions: tape.functions[turn.functions]!,
      messages: turn.messages.map((index) => tape.messages[index]!),
      settings: turn.settings,
    },
    answer: turn.answer,
  }));
}

function parseTape(file: string): Tape {
  try {
    const tape = JSON.parse(readFileSync(file, "utf8")) as Partial<Tape>;
    if (tape.recording === 1) return tape as Tape;
  } catch (error) {
    throw new Error(`${file} is not a recording: it is not valid JSON.`, { cause: error });
  }
  throw new Error(`${file} is not a recording of this version of Patchbay.`);
}
