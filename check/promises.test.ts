import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { reliabilityPage } from "../docs/generators/reliability.ts";
import { PROMISES } from "../test/faults/promises/index.ts";
import type { Promised } from "../test/faults/promises/promise.ts";
import { LONG } from "../test/faults/scenarios/index.ts";
import { readFigures } from "../test/faults/stored-figures.ts";
import { promiseFaults } from "./promises.ts";

const stored = readFigures();
const scenarios = new Set([...LONG.map(({ scenario }) => scenario.name), "simulation", "simulation-postgres"]);
const page = readFileSync(join(import.meta.dirname, "../docs/reliability.md"), "utf8");

test("every promise has a proof, and every figure keeps its limit", () => {
  expect(promiseFaults(Object.values(PROMISES).flat(), { stored, scenarios })).toEqual([]);
});

test("every stored figure is of a scenario, of a commit, and of a run without violations", () => {
  const names = Object.keys(stored);

  expect(names.filter((name) => !scenarios.has(name))).toEqual([]);
  expect(names.filter((name) => !/^[0-9a-f]{8,}$/.test(stored[name]!.commit))).toEqual([]);
  expect(names.filter((name) => stored[name]!.figures["violations"] !== 0)).toEqual([]);
});

test("docs/reliability.md has what `node docs/generators/main.ts` writes", () => {
  expect(page).toBe(reliabilityPage(page, stored));
});

test("a promise without a proof is found", () => {
  const figures = { recoveryP99Ms: 24_100, twice: 0, kills: Number.NaN };
  const known = { stored: { lab: { commit: "0123abcd", date: "2026-01-01", figures } }, scenarios: new Set(["lab"]) };
  const faults = (one: Omit<Promised, "promise">) =>
    promiseFaults([{ promise: "Within 20 s", ...one }], known).map((fault) => fault.replace("Within 20 s: ", ""));
  const file = "check/promises.test.ts";

  expect(faults({ tests: { [file]: "a promise without a proof is found" }, atMost: { lab: { twice: 0 } } })).toEqual(
    [],
  );
  expect(faults({})).toEqual(["no test and no stored figure proves it"]);
  expect(faults({ tests: { [file]: "no such name" } })).toEqual([`${file} has no test "no such name"`]);
  expect(faults({ tests: { "check/none.test.ts": "x" } })).toEqual([`check/none.test.ts has no test "x"`]);
  expect(faults({ atMost: { lab: { recoveryP99Ms: 20_000 } } })).toEqual([
    "recoveryP99Ms of lab is 24.1 s, at most 20 s is promised",
  ]);
  expect(faults({ atMost: { lab: { kills: 0 } } })).toEqual(["kills of lab is NaN, at most 0 is promised"]);
  expect(faults({ atMost: { lab: { absent: 0 } } })).toEqual(["no test and no stored figure proves it"]);
  expect(faults({ atMost: { other: { twice: 0 } } })).toEqual([
    "no scenario has the name other",
    "no test and no stored figure proves it",
  ]);
  expect(faults({ atMost: { lab: { twice: 3 } } })).toEqual(["the sentence does not name the limit 3 of twice"]);
});

test("a page without a part, with an unknown or a repeated part is refused", () => {
  const part = (name: string) => `<!-- ${name}: written by \`pnpm faults --write\` -->\n\n<!-- end of ${name} -->\n`;
  const whole = [...Object.keys(PROMISES), "figures"].map(part).join("\n");

  expect(reliabilityPage(whole, stored)).toContain("| A run whose replica died");
  expect(() => reliabilityPage(whole.replaceAll("clients", "others"), stored)).toThrow("others");
  expect(() => reliabilityPage(whole.replace(part("clients"), ""), stored)).toThrow("clients");
  expect(() => reliabilityPage(whole + part("clients"), stored)).toThrow("clients twice");
});
