import { escapeControls } from "./text.ts";

/** Log line fields. Must not contain keys, tokens, queries, arguments or results. */
export type LogFields = Record<string, unknown>;

/** A log with one line per event: a fixed lower-case message and fields. It never receives keys, tokens, queries, arguments or results. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A log that adds `fields` to every line. */
  child(fields: LogFields): Log;
}

/** A log that discards all lines. */
export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLog,
};

/** Log levels, from the least to the most urgent. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
/** A log line's urgency. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * A log that passes lines at level `lowest()` and above to `write`, with the fields `bound` and the line's own.
 * Default: all lines.
 */
export function logTo(
  write: (level: LogLevel, message: string, fields: LogFields) => unknown,
  lowest: () => LogLevel = () => "debug",
  bound: LogFields = {},
): Log {
  const line = (level: LogLevel) => (message: string, fields?: LogFields) => {
    if (LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(lowest())) write(level, message, { ...bound, ...fields });
  };
  return {
    debug: line("debug"),
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
    child: (fields) => logTo(write, lowest, { ...bound, ...fields }),
  };
}

/** Fields whose values are secrets, in lower case. */
const SECRET_NAMES: ReadonlySet<string> = new Set([
  "accesstoken",
  "apikey",
  "authorization",
  "cookie",
  "key",
  "password",
  "runtimekey",
  "secret",
  "token",
]);
/** Patchbay keys and tokens, header credentials, and the password in an address, wherever a text quotes them. */
const SECRETS =
  /\b(?:service|patchbay)_[a-z]+_[0-9A-Za-z]{20,}|\b(Bearer )[\w.~+/=-]{8,}|(:\/\/[^\s:/@"]*:)[^\s/@"]+(?=@)/gi;
const REDACTED = "[Redacted]";

const withoutSecrets = (text: string): string =>
  text.replace(SECRETS, (_, bearer = "", address = "") => `${bearer}${address}${REDACTED}`);

/**
 * A log line as JSON on one line, without control characters and secrets. Errors are written with their stack and cause. Never throws:
 * fields that JSON cannot represent are replaced with a note.
 */
export function logText(level: LogLevel, message: string, fields: LogFields): string {
  const begin = { time: new Date().toISOString(), level, message };
  let text: string;
  try {
    text = JSON.stringify({ ...begin, ...fields }, writable);
  } catch {
    text = JSON.stringify({ ...begin, fields: "unwritable" });
  }
  return `${escapeControls(withoutSecrets(text))}\n`;
}

function writable(name: string, value: unknown): unknown {
  if (typeof value !== "object" && typeof value !== "bigint" && typeof value !== "string") return value;
  if (SECRET_NAMES.has(name.toLowerCase())) return REDACTED;
  if (typeof value === "bigint") return String(value);
  if (!(value instanceof Error)) return value;
  const { name: kind, message, stack, cause } = value;
  return Object.assign({ name: kind, message, stack }, cause === undefined ? {} : { cause }, value);
}

/**
 * A log line for people, without its time: `warn  message  field=value`, with error stacks below it. Contains no
 * secrets; its writer escapes control characters. `paint` styles a part of the line.
 */
export function prettyText(
  level: LogLevel,
  message: string,
  fields: LogFields,
  paint: (style: LevelStyle | "dim", text: string) => string,
): string {
  const all = Object.entries(fields);
  const rest = all.flatMap(([name, value]) => (value instanceof Error ? [] : [`${name}=${shown(name, value)}`]));
  const levelText = paint(LEVEL_STYLES[level], level.padEnd(5));
  const line = `${levelText} ${message}  ${paint("dim", withoutSecrets(rest.join(" ")))}`.trimEnd();
  return [line, ...all.flatMap(([, value]) => (value instanceof Error ? [stackOf(value)] : []))].join("\n");
}

const LEVEL_STYLES = { debug: "dim", info: "cyan", warn: "yellow", error: "red" } as const;
type LevelStyle = (typeof LEVEL_STYLES)[LogLevel];

function shown(name: string, value: unknown): string {
  if (typeof value === "string" && !SECRET_NAMES.has(name.toLowerCase()) && !/[\s"=]/.test(value)) return value;
  try {
    return JSON.stringify(writable(name, value), writable) ?? "undefined";
  } catch {
    return "unwritable";
  }
}

/** Indented, so that a line in an error's message cannot look like an event. */
const stackOf = ({ stack, name, message }: Error): string =>
  withoutSecrets(stack ?? `${name}: ${message}`)
    .replaceAll("\r\n", "\n")
    .replaceAll(/^/gm, "    ");
