import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { mutated, pathOf } from "../simulation/mutants.ts";
import { LOST_LABELS } from "./mutants.ts";
import { SCENARIOS } from "./scenarios.ts";

const SCENARIO = fileURLToPath(new URL("scenario.ts", import.meta.url));
const run = promisify(execFile);
const mutants = Object.entries(LOST_LABELS).flatMap(([scenario, list]) => list.map((one) => ({ ...one, scenario })));

test("every scenario has a mutant", () => {
  expect(Object.keys(LOST_LABELS).toSorted()).toEqual(Object.keys(SCENARIOS).toSorted());
});

test.each(mutants)("the text that $name changes occurs once", (mutant) => {
  const text = readFileSync(pathOf(mutant), "utf8");

  expect(mutated(mutant, text)).not.toBe(text);
});

test.each(Object.entries(SCENARIOS))("%s does not reach the attacker's target", async (_, play) => {
  expect(await play()).toBe(false);
});

test.concurrent.each(mutants)(
  "without the label of $name, $scenario reaches it",
  { concurrent: true },
  async ({ name }) => {
    const { stdout } = await run(process.execPath, [SCENARIO, name]);

    expect(JSON.parse(stdout)).toEqual({ reached: true });
  },
);
