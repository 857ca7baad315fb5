import { type Command, InvalidArgumentError, Option } from "commander";
import { readFile } from "node:fs/promises";
import { readEnvironment } from "./config.ts";
import { CommandFailure, reasonOf } from "@patchbay/loading/failure";
import { paintStatus, printStatus } from "./output.ts";

type Camel<Text extends string> = Text extends `${infer Head}-${infer Rest}`
  ? `${Head}${Capitalize<Camel<Rest>>}`
  : Text;

type NameOf<Flags extends string> = Flags extends `${infer Long} ${"<" | "["}${string}`
  ? NameOf<Long>
  : Flags extends `--no-${infer Name}`
    ? Camel<Name>
    : Flags extends `--${infer Name}`
      ? Camel<Name>
      : never;

/** How an option's text is read. */
interface Reading {
  parse?: (text: string, before: never) => unknown;
  choices?: readonly string[];
  preset?: unknown;
  /** The value of an option that is given without one: `--inspect [port]`. */
  bare?: string;
  required?: true;
}

type ValueOf<Flags extends string, Read extends Reading> = Read extends { parse: (...given: never) => infer Value }
  ? Value
  : Read extends { choices: readonly (infer Choice)[] }
    ? Choice
    : Flags extends `${string}<${string}`
      ? string
      : true;

/** `--data-dir <dir>` becomes the member `dataDir`. */
type MemberOf<Flags extends string, Read extends Reading> = Flags extends `--no-${string}`
  ? Record<NameOf<Flags>, boolean>
  : Read extends { preset: unknown } | { required: true }
    ? Record<NameOf<Flags>, ValueOf<Flags, Read>>
    : Partial<Record<NameOf<Flags>, ValueOf<Flags, Read>>>;

/** An option with the type of its member among the parsed options. A function, so that no type absorbs another in a list. */
export interface TypedOption<Member> extends Option {
  readonly member?: (member: Member) => Member;
}

/** The parsed options of a command. */
export type Parsed<Given extends Option> = (
  Given extends TypedOption<infer Member> ? (member: Member) => void : never
) extends (all: infer All) => void
  ? All
  : never;

/** The parsed options that a function declares. */
export type OptionsOf<Declare extends () => readonly Option[]> = Parsed<ReturnType<Declare>[number]>;

/** An option that is not read from the environment. */
export function plainOption<const Flags extends string, const Read extends Reading = object>(
  flags: Flags,
  description: string,
  { parse, choices, preset, bare, required }: Read = {} as Read,
): TypedOption<MemberOf<Flags, Read>> {
  const made = new Option(flags, description);
  if (choices) made.choices(choices);
  if (parse) made.argParser(parse as (text: string, before: unknown) => unknown);
  if (preset !== undefined) made.default(preset);
  if (bare !== undefined) made.preset(bare);
  return required ? made.makeOptionMandatory() : made;
}

/** An option that is also an environment variable: `--data-dir` is PATCHBAY_DATA_DIR. */
export function option<const Flags extends string, const Read extends Reading = object>(
  flags: Flags,
  description: string,
  reading?: Read,
): TypedOption<MemberOf<Flags, Read>> {
  const made = plainOption(flags, description, reading);
  return made.env(`PATCHBAY_${(made.long ?? "").slice(2).replaceAll("-", "_").toUpperCase()}`);
}

export function addOptions(command: Command, options: readonly Option[]): Command {
  for (const own of options) command.addOption(own);
  return command;
}

export const logFormatOption = () =>
  option("--log-format <format>", "log format on stderr: json for machines, pretty for people", {
    choices: ["json", "pretty"],
    preset: "json",
  });
export const jsonOption = () => option("--json", "print one JSON object on stdout");
export const dataDirOption = () =>
  option("--data-dir <dir>", "folder with the embedded database", { preset: ".patchbay" });
export const databaseOption = () =>
  option("--database <url>", "sqlite:PATH or postgres://... (default: patchbay.db in the data folder)");
export const natsOption = () =>
  option("--nats <url>", "nats://HOST:PORT, for several replicas on one Postgres database");
export const hostOption = () => option("--host <host>", "address to listen on", HOST);
export const portOption = () =>
  option("--port <port>", "port to listen on, 0 to 65535; 0 picks a free one", { parse: parsePort, preset: 8787 });
export const corsOriginOption = () =>
  option("--cors-origin <origins>", "origins whose pages may call the service, comma-separated", {
    parse: parseOrigins,
  });
export const tiersOption = () => option("--tiers <file>", "JSON file with tiers that replace the defaults");
export const pricesOption = () =>
  option("--prices <file>", "JSON file with model prices that replace or extend the built-in ones");
export const providersOption = () =>
  option("--providers <file>", "JSON file with named model endpoints, in place of the variables with providers' keys");
export const otelOption = () =>
  option("--otel", "send OpenTelemetry spans as the OTEL_ variables say; needs the package @opentelemetry/sdk-node");
export const orgOption = (what: string) => option("--org <id>", what);
export const requiredOrgOption = () =>
  option("--org <id>", "organisation, as `orgs list` shows its id", { required: true });
/** How whole seconds are read. */
export const seconds = (from: number, to: number, preset: number) => ({
  parse: (text: string) => parseWithin(text, from, to, `expected seconds, a whole number from ${from} to ${to}`),
  preset,
});
export const arrivalOption = () =>
  option(
    "--arrival-seconds <seconds>",
    "seconds that a query waits for a runtime that was connected in the last minute, 0 to 3600; then it ends with agent_session_not_found. After a start, queries wait until 20 s have passed; 0 turns every wait off",
    seconds(0, 3_600, 15),
  );
export const providerIdleOption = () =>
  option(
    "--provider-idle <seconds>",
    "seconds without a byte from a model's provider after which a request to it fails and is repeated, 1 to 3600",
    seconds(1, 3_600, 60),
  );

/** `--key`. The two key kinds have separate variables, so that one `.env` holds both. */
export const keyOption = (variable: KeyVariable, description: string) =>
  plainOption("--key <key>", description).env(variable);
export const agentOption = (what: string) => option("--agent <id>", what);
export const requiredAgentOption = (what = "agent, as `agents list` shows its id") =>
  option("--agent <id>", what, { required: true });
/** How many items a list shows. */
export const limitOption = (items: string) =>
  option("--limit <n>", `${items} to show, 1 to 10000`, { parse: parseCount, preset: 100 });

const DAY_MS = 86_400_000;
const LONGEST_OVERLAP_MS = 7 * DAY_MS;
const UNITS_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS };

export const overlapOption = (description: string) =>
  option("--overlap <time>", description, { parse: parseOverlap, preset: DAY_MS }).default(DAY_MS, "24h");

function parseOverlap(text: string): number {
  const match = /^(\d{1,6})([smhd])$/.exec(text);
  const timeMs = text === "0" ? 0 : match ? Number(match[1]) * UNITS_MS[match[2]!]! : Number.NaN;
  if (timeMs <= LONGEST_OVERLAP_MS) return timeMs;
  throw new InvalidArgumentError("expected a time of at most 7 days as 30m, 24h or 7d, or 0");
}

type KeyVariable = "PATCHBAY_API_KEY" | "PATCHBAY_RUNTIME_KEY";

/** The key for a command with {@link keyOption}: the given one, else the PATCHBAY_KEY value, with a warning. */
export function keyOr(given: string | undefined, variable: KeyVariable): string | undefined {
  const { PATCHBAY_KEY: old = "" } = readEnvironment();
  if (given !== undefined || old === "") return given;
  printStatus(`${paintStatus("yellow", "warning")} PATCHBAY_KEY is deprecated. Set ${variable} instead.`);
  return old;
}

export const parsePort = (text: string): number =>
  parseWithin(text, 0, 65_535, "a port is a whole number from 0 to 65535");

/** A token that is valid in an Authorization header. */
export function parseToken(text: string): string {
  if (!/^[\x21-\x2b\x2d-\x7e]{1,200}$/.test(text))
    throw new InvalidArgumentError("expected 1 to 200 ASCII characters without spaces and commas");
  return text;
}

export const parseCount = (text: string): number =>
  parseWithin(text, 1, 10_000, "expected a whole number from 1 to 10000");

export function parseUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol))
    throw new InvalidArgumentError("expected an http:// or https:// address");
  return text.replace(/\/+$/, "");
}

/** How an address to listen on is read. */
export const HOST = { parse: parseHost, preset: "127.0.0.1" };

function parseHost(text: string): string {
  if (!/^[^\s/]+$/.test(text)) throw new InvalidArgumentError("expected an address or a host name, such as 0.0.0.0");
  return text;
}

/** Origins are compared with the Origin header as text, so they must be written as browsers send it: scheme, host and port, in lower case. */
function parseOrigins(text: string, before: string[] | undefined): string[] {
  const all = parseList(text, before);
  const wrong = all.find((origin) => origin !== "*" && !isOrigin(origin));
  if (wrong === undefined) return all;
  const { protocol = "", origin } = URL.parse(wrong) ?? {};
  const meant = /^https?:$/.test(protocol) ? ` Did you mean ${origin}?` : "";
  throw new InvalidArgumentError(
    `${wrong} is not an origin: expected scheme, host and port only, such as https://app.example.com.${meant}`,
  );
}

/** True also for desktop and mobile shells, such as capacitor://localhost. */
function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || /^(file|data|blob|javascript|about|mailto):$/.test(url.protocol)) return false;
  return /^https?:$/.test(url.protocol) ? url.origin === text : /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@A-Z]+$/.test(text);
}

/** Collects `--x a,b --x c` into one list. */
export function parseList(text: string, before: string[] | undefined): string[] {
  const items = text.split(",").map((item) => item.trim());
  if (items.includes("")) throw new InvalidArgumentError("expected names separated by commas");
  return [...(before ?? []), ...items];
}

/** Adds examples after a command's help. */
export function examples(command: Command, ...lines: string[]): Command {
  return command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`);
}

export function parseWithin(text: string, min: number, max: number, fault: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) throw new InvalidArgumentError(fault);
  return value;
}

/** Parses an option's file, if it names one; throws a CommandFailure that names both. */
async function readFor<T>(option: string, file: string | undefined, parse: (text: string) => T | Promise<T>) {
  if (file === undefined) return undefined;
  try {
    return await parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new CommandFailure(`${option} ${file} cannot be used: ${reasonOf(error)}`);
  }
}

const controlPlane = () => import("@patchbay/control-plane");

/** Limits that the file omits keep their defaults. */
export const readLimits = (file: string | undefined) =>
  readFor("--limits", file, async (text) => (await controlPlane()).parseLimits(text));

export const readTiers = (file: string | undefined) =>
  readFor("--tiers", file, async (text) => (await controlPlane()).parseTiers(text));

/** Models that the file omits keep their built-in prices. */
export const readPrices = (file: string | undefined) =>
  readFor("--prices", file, async (text) => (await controlPlane()).parsePrices(text));

export const readJsonFile = (option: string, file: string) =>
  readFor<unknown>(option, file, (text) => JSON.parse(text) as unknown);
