import { randomUUID } from "node:crypto";
import { styleText } from "node:util";
import { escapeControls } from "@patchbay/kit";

type Style = Parameters<typeof styleText>[0];

const writeStdout = process.stdout.write.bind(process.stdout);
const ESCAPE = "\u001b[";
/** Stands for the escape in our own styles until they are written. Random, so that text from outside cannot contain it. */
const OWN = `\u0000${randomUUID()}`;

/** All output passes here: escapes control characters outside our own styles. */
const printable = (text: string): string =>
  `${text.replaceAll("\r\n", "\n").split(OWN).map(escapeControls).join(ESCAPE)}\n`;

/** Writes a result to stdout. */
export function print(text: string): void {
  writeStdout(printable(text));
}

/** Writes a result to stdout as one line of JSON. */
export function printJson(value: object): void {
  print(JSON.stringify(value));
}

/** Writes progress, a log line or a reason to stderr. */
export function printStatus(text: string): void {
  process.stderr.write(printable(text));
}

/** Keeps stdout for results: what code loaded by this process prints there goes to stderr. */
export function keepStdoutForResults(): void {
  process.stdout.write = process.stderr.write.bind(process.stderr);
}

/** Resolves when all output is written. A pipe takes 64 KiB; the rest waits in this process and is lost if it exits. */
export async function written(): Promise<void> {
  const flush = (write: typeof writeStdout) => new Promise<void>((done) => void write("", () => done()));
  await Promise.all([flush(writeStdout), flush(process.stderr.write.bind(process.stderr))]);
}

/** Styles text for stdout when that is a terminal with colours; NO_COLOR and FORCE_COLOR apply. */
export const paint = (style: Style, text: string): string => painted(style, text, process.stdout);

/** As `paint`, for stderr. */
export const paintStatus = (style: Style, text: string): string => painted(style, text, process.stderr);

const painted = (style: Style, text: string, stream: NodeJS.WriteStream): string =>
  styleText(style, escapeControls(text), { stream }).replaceAll(ESCAPE, OWN);

/** The terminal's columns on stdout; infinite for a file or a pipe. */
export const terminalWidth = (): number => (process.stdout.isTTY && process.stdout.columns) || Number.POSITIVE_INFINITY;

/** Text from outside as one line with escaped control characters, so that it cannot begin a line of its own. */
export const oneLine = (text: string): string =>
  escapeControls(text.replaceAll("\r\n", "\n")).replaceAll("\n", "\\n").replaceAll("\t", " ");
