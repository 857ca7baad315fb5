import type { Counted } from "../counted.ts";
import type { DirectCalls } from "../direct-calls.ts";
import type { FigureName, Figures } from "../figures.ts";
import type { Letter } from "../system.ts";

/** Results of a benchmark: medians of its rounds, and figures that are measured once. */
export interface Measured {
  /** By the letter of the system. */
  systems: Partial<Record<Letter, Figures>>;
  /** Rounds that were measured. */
  rounds?: number;
  packages: number;
  fsync?: { single: number; together: number };
  /** Of one query at a time, by the letter of the system. */
  counts?: Partial<Record<Letter, Counted>>;
  /** Of OpenTelemetry's registry, by queries without a provider. */
  tracingLookups?: number;
  /** Function calls without a model. */
  direct?: DirectCalls;
  /** Of `patchbay access` for a service of 50 functions and 6 roles. */
  access?: { checkMs: number; searchMs: number };
}

/** A limit for one figure. */
export interface Must {
  text: string;
  bound: number | ((measured: Measured) => number);
  atMost: boolean;
  /** Undefined when this run did not measure it. */
  value(measured: Measured): number | undefined;
}

const figure = (letter: Letter, name: FigureName) => (measured: Measured) => measured.systems[letter]?.[name];

function ratio(name: FigureName, to: Letter, of: Letter = "A") {
  return (measured: Measured): number | undefined => quotient(figure(of, name)(measured), figure(to, name)(measured));
}

const quotient = (ours: number | undefined, theirs: number | undefined): number | undefined =>
  ours === undefined || theirs === undefined ? undefined : ours / theirs;

/** CPU time of a query, one at a time, over that of one of sixteen. */
const loneRatio = (measured: Measured): number | undefined =>
  quotient(figure("A", "at1CpuMs")(measured), figure("A", "at16CpuMs")(measured));

/** CPU time of a query with 200,000 stored runs over that with none. */
const retainedRatio =
  (letter: Letter) =>
  (measured: Measured): number | undefined =>
    quotient(figure(letter, "retained200000CpuMs")(measured), figure(letter, "retained0CpuMs")(measured));

/** A second replica may add 30 %, or 2 ms of CPU per query. */
function twoReplicasBound(measured: Measured): number {
  const one = figure("P", "at16CpuMs")(measured) ?? Number.NaN;
  return Math.max(1.3 * one, one + 2);
}

const most = (text: string, bound: Must["bound"], value: Must["value"]): Must => ({
  text,
  bound,
  atMost: true,
  value,
});
const least = (text: string, bound: number, value: Must["value"]): Must => ({ text, bound, atMost: false, value });

/** The limits of streams are the ratios that were reached before, and a tenth, by which medians of runs differ. */
export const MUSTS: readonly Must[] = [
  most("CPU per query, A / C", 1, ratio("at16CpuMs", "C")),
  most("CPU per query one at a time / 16 at a time, A", 1.6, loneRatio),
  most("ms of a query p50, one at a time, A", 2.5, figure("A", "at1P50Ms")),
  most("CPU ms per query on Postgres, P", 5, figure("P", "at16CpuMs")),
  most("CPU per query on Postgres, P / F", 3.5, ratio("at16CpuMs", "F", "P")),
  most("ms of a query p50, one at a time, P", 9, figure("P", "at1P50Ms")),
  least("queries a second, 64 at a time, P", 250, figure("P", "at64PerSecond")),
  most("CPU ms per query of two replicas, N", twoReplicasBound, figure("N", "at16CpuMs")),
  most("CPU per query on Postgres, P / L", 0.35, ratio("at16CpuMs", "L", "P")),
  most("CPU per query, 200,000 stored runs / none, A", 1.25, retainedRatio("A")),
  most("CPU per query, 200,000 stored runs / none, P", 1.25, retainedRatio("P")),
  most("slowest first page of a list, ms, A", 150, figure("A", "listMs")),
  most("slowest first page of a list, ms, P", 150, figure("P", "listMs")),
  most("slowest search of runs, ms, A", 300, figure("A", "searchMs")),
  most("slowest search of runs, ms, P", 300, figure("P", "searchMs")),
  most("CPU per streamed query of 100 tokens, A / C", 0.41, ratio("streamCpuMs", "C")),
  most("CPU per token at 200 streams, A / C", 0.45, ratio("tokenCpuUs", "C")),
  most("first event at 200 streams, A / C", 0.45, ratio("firstEventMs", "C")),
  most("KB per open stream, A / C", 0.5, ratio("streamKb", "C")),
  most("thread of 1,000 messages, A / C", 0.8, ratio("history1000CpuMs", "C")),
  most("function call of 200 B, not stored, ms", 0.2, figure("A", "call200BP50Ms")),
  least("function calls of 200 B a second, not stored", 10_000, figure("A", "call200BPerSecond")),
  most("CPU per tools/call of MCP / per test call of the console, A", 2, ({ direct }) =>
    quotient(direct?.mcpMs, direct?.consoleMs),
  ),
  most("start to first answer, ms", 1_000, figure("A", "startMs")),
  most("idle memory of server and functions, MB", 170, figure("A", "idleMb")),
  // 50 of them for the providers' own libraries, most for Google's credentials.
  most("packages installed for the control plane", 80, ({ packages }) => packages),
  most("lookups of tracing by 400 queries without a provider, A", 0, ({ tracingLookups }) => tracingLookups),
  least(
    "queries a second with an fsync of 10 ms, 64 at a time / one",
    10,
    ({ fsync }) => fsync && fsync.together / fsync.single,
  ),
  most("patchbay access --check, 50 functions and 6 roles, ms", 2_000, ({ access }) => access?.checkMs),
  most("patchbay access --search, 50 functions and 6 roles, ms", 60_000, ({ access }) => access?.searchMs),
];

export const AIMS: readonly Must[] = [
  most("CPU per query, A / C", 0.8, ratio("at16CpuMs", "C")),
  most("CPU per query, A / B", 1.25, ratio("at16CpuMs", "B")),
  most("CPU ms per query on Postgres, P", 3.5, figure("P", "at16CpuMs")),
];

/** One line for each limit whose figure was measured; with `absent`, one for each limit. */
export function judge(
  musts: readonly Must[],
  measured: Measured,
  { absent = false } = {},
): { line: string; missed: boolean }[] {
  return musts.flatMap(({ text, bound, atMost, value }) => {
    const found = value(measured) ?? Number.NaN;
    const limit = typeof bound === "number" ? bound : bound(measured);
    // A limit can depend on a figure which was not measured.
    if (Number.isNaN(found) || Number.isNaN(limit))
      return absent ? [{ line: `absent  ${text}: not measured`, missed: false }] : [];
    const missed = atMost ? found > limit : found < limit;
    const shown = `${text}: ${short(found)} (${atMost ? "at most" : "at least"} ${short(limit)})`;
    return [{ line: `${missed ? "MISSED" : "ok    "}  ${shown}`, missed }];
  });
}

/** Three significant digits, with thousands separators. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return "";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}
