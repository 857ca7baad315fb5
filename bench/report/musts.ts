import type { FigureName, Figures } from "../figures.ts";

/** Results of a benchmark: medians of its rounds, and figures that are measured once. */
export interface Measured {
  /** By the letter of the system. */
  systems: Partial<Record<"A" | "B" | "C", Figures>>;
  packages: number;
  fsync?: { single: number; together: number };
}

/** A limit for one figure. */
export interface Must {
  text: string;
  bound: number;
  atMost: boolean;
  /** Undefined when this run did not measure it. */
  value(measured: Measured): number | undefined;
}

const figure = (letter: "A" | "B" | "C", name: FigureName) => (measured: Measured) => measured.systems[letter]?.[name];

function ratio(name: FigureName, to: "B" | "C") {
  return (measured: Measured): number | undefined => {
    const [ours, theirs] = [figure("A", name)(measured), figure(to, name)(measured)];
    return ours === undefined || theirs === undefined ? undefined : ours / theirs;
  };
}

const most = (text: string, bound: number, value: Must["value"]): Must => ({ text, bound, atMost: true, value });
const least = (text: string, bound: number, value: Must["value"]): Must => ({ text, bound, atMost: false, value });

export const MUSTS: readonly Must[] = [
  most("CPU per query, A / C", 0.8, ratio("at16CpuMs", "C")),
  most("CPU per streamed query of 100 tokens, A / C", 0.5, ratio("streamCpuMs", "C")),
  most("first event at 200 streams, A / C", 0.5, ratio("firstEventMs", "C")),
  most("KB per open stream, A / C", 0.5, ratio("streamKb", "C")),
  most("thread of 1,000 messages, A / C", 0.8, ratio("history1000CpuMs", "C")),
  most("function call of 200 B, not stored, ms", 0.2, figure("A", "call200BP50Ms")),
  least("function calls of 200 B a second, not stored", 10_000, figure("A", "call200BPerSecond")),
  most("start to first answer, ms", 1_000, figure("A", "startMs")),
  most("idle memory of server and functions, MB", 170, figure("A", "idleMb")),
  most("packages installed for the control plane", 45, ({ packages }) => packages),
  least(
    "queries a second with an fsync of 10 ms, 64 at a time / one",
    10,
    ({ fsync }) => fsync && fsync.together / fsync.single,
  ),
];

export const AIMS: readonly Must[] = [
  most("CPU per query, A / C", 0.65, ratio("at16CpuMs", "C")),
  most("CPU per query, A / B", 1.25, ratio("at16CpuMs", "B")),
];

/** One line for each limit whose figure was measured. */
export function judge(musts: readonly Must[], measured: Measured): { line: string; missed: boolean }[] {
  return musts.flatMap(({ text, bound, atMost, value }) => {
    const found = value(measured);
    if (found === undefined || Number.isNaN(found)) return [];
    const missed = atMost ? found > bound : found < bound;
    const shown = `${text}: ${short(found)} (${atMost ? "at most" : "at least"} ${short(bound)})`;
    return [{ line: `${missed ? "MISSED" : "ok    "}  ${shown}`, missed }];
  });
}

/** Three significant digits, with thousands separators. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return "";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}
