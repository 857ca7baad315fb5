import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type CallExpression, type Node, Visitor } from "oxc-parser";
import type { StoredFigures } from "../docs/generators/reliability.ts";
import { brokenLimit, limitsOf, type Promised, shown } from "../test/faults/promises/promise.ts";
import { parse } from "./source.ts";

const ROOT = join(import.meta.dirname, "..");

/** Why promises have no proof, one line each: every named test must exist, and every figure must keep its limit. */
export function promiseFaults(
  promises: readonly Promised[],
  { stored, scenarios }: { stored: StoredFigures; scenarios: ReadonlySet<string> },
): string[] {
  return promises.flatMap((one) => {
    const tests = Object.entries(one.tests ?? {}).flatMap(([file, names]) =>
      [names].flat().map((name) => ({ file, name })),
    );
    const limits = limitsOf(one);
    const measured = limits.filter(({ scenario, figure }) => stored[scenario]?.figures[figure] !== undefined);
    const faults = [
      ...tests
        .filter(({ file, name }) => !testsOf(file).has(name))
        .map(({ file, name }) => `${file} has no test "${name}"`),
      ...limits
        .filter(({ scenario }) => !scenarios.has(scenario))
        .map(({ scenario }) => `no scenario has the name ${scenario}`),
      ...limits
        .filter(({ figure, atMost }) => atMost > 0 && !one.promise.includes(shown(figure, atMost)))
        .map(({ figure, atMost }) => `the sentence does not name the limit ${shown(figure, atMost)} of ${figure}`),
      ...measured.flatMap((limit) => brokenLimit(limit, stored[limit.scenario]!.figures) ?? []),
      ...(tests.length + measured.length === 0 ? ["no test and no stored figure proves it"] : []),
    ];
    return faults.map((fault) => `${one.promise}: ${fault}`);
  });
}

const known = new Map<string, ReadonlySet<string>>();

/** The names of a file's tests as they are written. A skipped one is not a test. */
function testsOf(file: string): ReadonlySet<string> {
  const names = known.get(file) ?? namesIn(file);
  known.set(file, names);
  return names;
}

function namesIn(file: string): Set<string> {
  const path = join(ROOT, file);
  const names = new Set<string>();
  if (!existsSync(path)) return names;
  const source = readFileSync(path, "utf8");
  new Visitor({
    CallExpression({ callee, arguments: [name] }: CallExpression) {
      if (name?.type !== "Literal" && name?.type !== "TemplateLiteral") return;
      if (isTest(callee))
        names.add(name.type === "Literal" ? String(name.value) : source.slice(name.start + 1, name.end - 1));
    },
  }).visit(parse(file, source).program);
  return names;
}

/** `test`, `test.concurrent`, `test.each([…])` and the like. */
function isTest(node: Node): boolean {
  if (node.type === "Identifier") return node.name === "test";
  if (node.type === "CallExpression") return isTest(node.callee);
  if (node.type !== "MemberExpression" || node.property.type !== "Identifier") return false;
  return !["skip", "todo"].includes(node.property.name) && isTest(node.object);
}
