import { median } from "./jobs.ts";

/** Measurements of one system in one round. Names end in their unit; a figure that was not measured is absent. */
export type Figures = Partial<Record<FigureName, number>>;

export type FigureName =
  | "startMs"
  | "idleMb"
  | `at${1 | 16 | 64}${"CpuMs" | "DatabaseCpuMs" | "PerSecond" | "P50Ms" | "P99Ms"}`
  | "streamCpuMs"
  | "tokenCpuUs"
  | "streamKb"
  | "firstEventMs"
  | "firstTokenMs"
  | `history${10 | 100 | 1000}CpuMs`
  | `retained${0 | 200000}${"CpuMs" | "Kb"}`
  | "listMs"
  | "searchMs"
  | `call${"200B" | "10KB" | "200KB"}${"P50Ms" | "PerSecond" | "CpuUs"}`;

/** The median of each figure across the rounds. */
export function medians(rounds: readonly Figures[]): Figures {
  const names = new Set(rounds.flatMap((round) => Object.keys(round) as FigureName[]));
  const figures: Figures = {};
  for (const name of names) {
    const values = rounds.map((round) => round[name]).filter((value) => value !== undefined);
    figures[name] = median(values);
  }
  return figures;
}
