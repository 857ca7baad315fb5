import { parseArgs } from "node:util";
import { startControlPlane } from "@patchbay/control-plane/admin";
import type { StartPlanes } from "@patchbay/test-kit/local-server";
import { ownPostgres } from "@patchbay/test-support/postgres-server";
import { costOfRules } from "./cost.ts";
import { SETTINGS } from "./play.ts";
import { playAll, render, type Played } from "./report.ts";
import { SUITES } from "./suites.ts";

const HELP = `pnpm flows [--suite NAME] [--setting NAME] [--rounds N] [--postgres] [--list]

  Plays honest tasks and attacks with a model that obeys every text, and prints who reached what in each setting.

  --suite    only this suite
  --setting  only this setting
  --rounds   how often the cost of a task is measured (default 5)
  --postgres on Postgres instead of SQLite
  --list     prints each attack that reached its target, and each task that was asked or broken`;

const { values } = parseArgs({
  options: {
    suite: { type: "string" },
    setting: { type: "string" },
    rounds: { type: "string", default: "5" },
    postgres: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  process.stdout.write(`${HELP}\n`);
  process.exit(0);
}

const played: Played[] = [];
{
  await using postgres = values.postgres ? await ownPostgres() : undefined;
  const startPlanes: StartPlanes | undefined =
    postgres && (async (options) => [await startControlPlane({ ...options, database: postgres.url })]);
  const settings = SETTINGS.filter(({ name }) => name === (values.setting ?? name));
  const options = { settings, rounds: Number(values.rounds), ...(startPlanes && { startPlanes }) };
  for (const suite of SUITES.filter(({ name }) => name === (values.suite ?? name)))
    played.push(...(await playAll(suite, options)));
}
process.stdout.write(render(played));
const { noLabels, deny } = await costOfRules(25);
process.stdout.write(
  `\nOf a call, the rules take in µs: ${noLabels.toFixed(1)} without labels, ${deny.toFixed(0)} in a service that denies\n`,
);
if (values.list)
  for (const { suite, setting, attacks, tasks } of played) {
    const where = `${setting.name}, ${suite.name}`;
    for (const { attack, task, reached } of attacks)
      if (reached) process.stdout.write(`${where}: ${attack.name} in ${task.name} reached its target\n`);
    for (const { task, fate } of tasks)
      if (fate !== "untouched") process.stdout.write(`${where}: ${task.name} was ${fate}\n`);
  }
