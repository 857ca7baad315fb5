import type { StartPlanes } from "@patchbay/test-kit/local-server";
import { median } from "../../bench/jobs.ts";
import { pairsOf, startStage, type PlayedAttack, type PlayedTask, type Setting, type Stage } from "./play.ts";
import { KINDS, type Suite } from "./suite.ts";

/** What one suite did in one setting. */
export interface Played {
  suite: Suite;
  setting: Setting;
  tasks: PlayedTask[];
  attacks: PlayedAttack[];
}

/**
 * Plays one at a time, so that the processor time belongs to one task. Further rounds measure the tasks again, each setting in turn,
 * and the median counts.
 */
export async function playAll(
  suite: Suite,
  { settings, startPlanes, rounds = 1 }: { settings: readonly Setting[]; startPlanes?: StartPlanes; rounds?: number },
): Promise<Played[]> {
  await using stages = new AsyncDisposableStack();
  const played: (Played & { stage: Stage })[] = [];
  for (const setting of settings)
    played.push({
      suite,
      setting,
      tasks: [],
      attacks: [],
      stage: stages.use(await startStage(suite, setting, startPlanes)),
    });
  for (const { attacks, stage } of played)
    for (const { attack, task } of pairsOf(suite)) attacks.push(await stage.playAttack(attack, task));
  for (let round = 0; round < rounds; round++)
    for (const [i, task] of suite.tasks.entries())
      for (const { tasks, stage } of played) {
        const again = await stage.playTask(task);
        tasks[i] = { ...again, costsUs: [...(tasks[i]?.costsUs ?? []), ...again.costsUs] };
      }
  return played;
}

/** A table by setting and suite, and one with the reached attacks by kind. The cost is that of tasks which no setting asks about or breaks. */
export function render(played: readonly Played[]): string {
  const touched = new Set(
    played.flatMap(({ tasks }) => tasks.flatMap(({ task, fate }) => (fate === "untouched" ? [] : [task]))),
  );
  const totals = [...Map.groupBy(played, ({ setting }) => setting).entries()].map(([setting, parts]) => ({
    setting,
    name: "all",
    tasks: parts.flatMap(({ tasks }) => tasks),
    attacks: parts.flatMap(({ attacks }) => attacks),
  }));
  const lines = [...played.map(({ suite, ...rest }) => ({ ...rest, name: suite.name })), ...totals];
  const settings = totals.map(({ setting }) => setting.name);
  const outcomes = [
    [
      "setting",
      "suite",
      "attacks",
      "reached",
      "asked",
      "stopped",
      "tasks",
      "untouched",
      "asked",
      "broken",
      "µs a call",
    ],
    ...lines.map(({ setting, name, tasks, attacks }) => {
      const reached = attacks.filter((one) => one.reached).length;
      const asked = attacks.filter((one) => one.asked && !one.reached).length;
      const fates = ["untouched", "asked", "broken"].map((fate) => tasks.filter((one) => one.fate === fate).length);
      const same = tasks.filter(({ task }) => !touched.has(task));
      const cost = Math.round(sum(same.map(({ costsUs }) => median(costsUs))) / sum(same.map(({ calls }) => calls)));
      const stopped = attacks.length - reached - asked;
      return [setting.name, name, attacks.length, reached, asked, stopped, tasks.length, ...fates, cost];
    }),
  ];
  const kinds = [
    ["kind", "attacks", ...settings],
    ...KINDS.map((kind) => {
      const own = totals.map(({ attacks }) => attacks.filter(({ attack }) => attack.kind === kind));
      return [kind, own[0]?.length ?? 0, ...own.map((some) => some.filter(({ reached }) => reached).length)];
    }),
  ];
  return `${aligned(outcomes)}\n\nReached by kind:\n${aligned(kinds)}\n`;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function aligned(rows: readonly (readonly (string | number)[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => String(row[column]).length)));
  const line = (row: readonly (string | number)[]) =>
    row.map((cell, i) => (typeof cell === "number" ? String(cell).padStart(widths[i]!) : cell.padEnd(widths[i]!)));
  return rows.map((row) => line(row).join("  ").trimEnd()).join("\n");
}
