import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { defineFunction, defineService } from "@patchbay/functions";
import { z } from "zod";
import { mutantsOf } from "@patchbay/access-lab/search/mutants";
import { fingerprintOf } from "@patchbay/access-lab/solve/fingerprint";
import { createRandom } from "../../access-lab/src/search/random.ts";
import { expect, test } from "vitest";
import { temporaryFolder } from "./support/command.ts";
import { type Call, callsOf, randomRule } from "./support/random-rules.ts";

const INPUT = z.object({
  amount: z.int().min(0).max(9),
  price: z.number(),
  other: z.number().optional(),
  text: z.string().optional(),
  isUrgent: z.boolean(),
  item: z.object({ owner: z.string().optional(), tags: z.array(z.string()) }).optional(),
  extra: z.unknown(),
});

/** A service with a function for each rule. `head`: code that they use. */
async function serviceOf(rules: readonly string[], head = "") {
  const folder = await temporaryFolder();
  const path = join(folder.path, "rules.js");
  await writeFile(join(folder.path, "limits.json"), '{ "most": 1 }');
  await writeFile(path, `${head}\n${rules.map((rule, i) => `export const rule${i} = ${rule};`).join("\n")}`);
  const runs = rules.map((rule) => runInContext(`(${rule})`, createContext({})) as () => boolean);
  const functions = runs.map((authorize, i) =>
    defineFunction({ name: `f${i}`, description: "F.", input: INPUT, roles: ["boss"], authorize, handler: () => 1 }),
  );
  const context = z.object({ user: z.string().optional() });
  return { runs, folder, files: new Set([path]), service: defineService({ name: "rules", context, functions }) };
}

/** What each rule decides, by a fingerprint that is equal for equal decisions. */
async function decisionsOf(rules: readonly string[], head = ""): Promise<(string | undefined)[]> {
  const { runs, folder, files, service } = await serviceOf(rules, head);
  await using _ = folder;
  const fingerprint = fingerprintOf(service, files);
  return runs.map((run) => fingerprint([{ run, isWrapped: false }])!.split(" ")[1]);
}

const HEAD = `
import { readFileSync } from "node:fs";
import limits from "./limits.json" with { type: "json" };
limits.most = 5;
const owners = { a: "ada", b: "ben" };
const STAFF = ["boss", "lead"];
const stored = new Map(JSON.parse(readFileSync("orders.json", "utf8")));
const isStaff = (role) => STAFF.includes(role);
function ownerOf(id) { return stored.get(id)?.owner; }
`;

/** Rules that decide equally, in each row. */
const EQUAL: readonly (readonly string[])[] = [
  [
    "({ input }) => input.amount > 2",
    "(call) => call.input.amount > 2",
    "({ input: { amount: n } }) => { const is = n > 2; return is; }",
  ],
  [
    "({ input }) => !(input.amount > 2 || input.isUrgent)",
    "({ input }) => input.amount <= 2 && !input.isUrgent",
    "({ input }) => input.amount < 3 && input.isUrgent === false",
  ],
  [
    "({ role }) => isStaff(role)",
    '({ role }) => role === "lead" || role === "boss"',
    '({ role }) => { switch (role) { case "boss": case "lead": return true; default: return "Staff only."; } }',
    "({ role }) => STAFF.some((one) => one === role)",
  ],
  [
    '({ role, input }) => { if (role !== "boss") return "No."; return input.isUrgent; }',
    '({ role, input }) => role === "boss" && input.isUrgent',
    '({ role, input }) => (role === "boss" ? input.isUrgent : false)',
  ],
  [
    "({ input, context }) => ownerOf(input.text) === context.user",
    "({ input, context }) => { const order = stored.get(input.text); return (order ? order.owner : undefined) === context.user; }".replace(
      "order ?",
      "order !== undefined && order !== null ?",
    ),
    "({ input, context: { user } }) => user === stored.get(input.text)?.owner",
  ],
  ["({ input }) => input.price * 60 * 24 > 5 * 2", "({ input }) => 10 < input.price * 60 * 24"],
  [
    "({ input }) => { if (input.item === undefined) throw new Error('none'); return input.item.owner === 'a'; }",
    "({ input }) => input.item.owner === 'a'",
    "({ input }) => input.item !== undefined && input.item.owner === 'a'",
  ],
  ["async ({ input }) => (await input.text) === `${'a'}b`", "({ input }) => input.text === 'a' + 'b'"],
];

const MANY = Array.from({ length: 101 }, (_, i) => `a${i}: 1`).join();

/** Rules that decide differently, in each row. */
const DIFFERENT: readonly (readonly string[])[] = [
  ["({ input }) => input.other <= 2", "({ input }) => !(input.other > 2)"],
  ["({ input }) => input.item.owner === undefined", "({ input }) => input.item?.owner === undefined"],
  [
    "({ role, input }) => { const is = input.item.owner === 'a'; return role === 'boss' || is; }",
    "({ role, input }) => role === 'boss' || input.item.owner === 'a'",
  ],
  ["({ input }) => input.text", "({ input }) => Boolean(input.text)"],
  [`({ input }) => ({ ${MANY}, a: 1 })[input.text] === 1`, `({ input }) => ({ ${MANY}, b: 1 })[input.text] === 1`],
  ["({ input }) => input.text === 'a'.repeat(9).padEnd(input.price)", "({ input }) => input.text === 'a'.repeat(9)"],
  ["({ input }) => input.price > 2", "({ input }) => input.price > 2.5"],
  ["({ input }) => { const one = [input.text]; return one === one; }", "({ input }) => [input.text] === [input.text]"],
  ["({ input }) => owners[input.text] === 'ada'", "({ input }) => owners[input.text] !== 'ada'"],
  [
    "({ input }) => input.item.tags.every((a) => input.item.tags.some((b) => a < b))",
    "({ input }) => input.item.tags.every((a) => input.item.tags.some((b) => a < a))",
  ],
  [
    "({ input }) => Boolean(input.item ? input.price > 1 : input.price > 2)",
    "({ input }) => Boolean(input.item ? input.price > 2 : input.price > 1)",
  ],
];

/** Rules of which nothing is known. */
const UNKNOWN: readonly string[] = [
  "({ input }) => { if (input.isUrgent) { var is = true; } return is; }",
  "({ input }) => { switch (input.text) { case 'a': var is = true; default: return is; } }",
  "({ input }) => ({ get isOpen() { return true; } }).isOpen()",
  "({ input }) => input.price > limits.most",
  "() => Date.now() > 5",
  "({ input }) => ({ [input.text]: true }).a",
  "({ input }) => [...input.item.tags, 'a'].includes(input.text)",
  "({ input, ...rest }) => rest.role === input.text",
  "({ input }) => new Date(input.text) === new Date(input.text)",
  "({ input }) => { switch (input.text) { case 'a': if (input.isUrgent) break; return true; } return false; }",
  "({ input }) => { let sum = 0; for (const tag of input.item.tags) sum += tag.length; return sum > 3; }",
  "({ input }) => input.item.tags.push('a') > 2",
  "({ input }) => { const it = stored.keys(); return it.next().value === input.text; }",
  "({ input }) => /a/g.test(input.text)",
  "({ input }) => { try { return input.item.owner === 'a'; } catch { return true; } }",
  "({ role }) => { role = 'boss'; return role === 'boss'; }",
  "function () { return this.role === 'boss'; }",
  "({ input }) => { const is = async () => false; return is() ? true : input.isUrgent; }",
  "({ input }) => Math.random() > input.price",
];

test("code that decides equally has one fingerprint, and other code another one or none", async () => {
  const rows = [...EQUAL, ...DIFFERENT, UNKNOWN];
  const prints = await decisionsOf(rows.flat(), HEAD);
  const found = rows.map((row) => row.map((rule) => prints[rows.flat().indexOf(rule)]));

  const isOne = (row: readonly unknown[]) => row[0] !== undefined && new Set(row).size === 1;
  expect(found.map(isOne)).toEqual([...EQUAL.map(() => true), ...DIFFERENT.map(() => false), false]);
  expect(UNKNOWN.filter((_, i) => found.at(-1)![i] !== undefined)).toEqual([]);
});

test("a mutant with the same decisions, or with others for refused values only, is equivalent", async () => {
  const rule =
    "({ input }) => input.amount >= 0 && input.amount <= 8 && input.price >= 0 && (input.isUrgent || input.price >= 0)";
  const { service, files, folder } = await serviceOf([rule]);
  await using _ = folder;
  const { mutants } = mutantsOf(service, files, { isWhole: true });

  const left = mutants.flatMap(({ before, after, functionNames }) =>
    after === undefined || functionNames.length > 0 ? [] : [`${before.slice(-39)} → ${after.slice(-19)}`],
  );
  expect(left).toEqual([
    "&& (input.isUrgent || input.price >= 0) → && input.price >= 0",
    "input.amount >= 0 && input.amount <= 8 → input.amount <= 8",
    "input.isUrgent || input.price >= 0 → input.price >= 0",
  ]);
  // The schema refuses amounts below 0, and whether a call is urgent decides nothing.
  const open = mutants.flatMap((one) => (one.after === undefined ? [`${one.before}: ${one.open.join()}`] : []));
  expect(open).toEqual([
    "input.amount >= 0: f0 true",
    "input.amount <= 8: f0 true,f0 false",
    "input.price >= 0: f0 true,f0 false",
    "input.isUrgent: ",
    "input.price >= 0: f0 true",
  ]);
});

test("a comment excludes the mutants of the code below it", async () => {
  const head = "// patchbay-ignore-mutants: tested elsewhere\nfunction isLarge(n) { return n > 5; }";
  const { service, files, folder } = await serviceOf(["({ input }) => isLarge(input.price) || input.isUrgent"], head);
  await using _ = folder;

  const lines = mutantsOf(service, files).mutants.map(({ line }) => line);

  expect(new Set(lines)).toEqual(new Set([3]));
});

test("random rules with one fingerprint decide equally on each call", async () => {
  const random = createRandom(7);
  const rules = Array.from({ length: 400 }, () => randomRule(random));
  const prints = [...(await decisionsOf(rules.slice(0, 200))), ...(await decisionsOf(rules.slice(200)))];
  const calls = [...callsOf()];
  const decide = (rule: string) => {
    const run = runInContext(rule, createContext({})) as (call: Call) => unknown;
    return calls
      .map((call) => {
        try {
          return run(call) === true ? "1" : "0";
        } catch {
          return "0";
        }
      })
      .join("");
  };
  const groups = Map.groupBy(rules.keys(), (i) => prints[i] ?? "unknown");
  groups.delete("unknown");
  const decided = [...groups.values()].map((some) => new Map(some.map((i) => [decide(rules[i]!), rules[i]!])));

  expect(groups.size).toBeLessThan(rules.length - 100);
  expect(decided.filter(({ size }) => size > 1).map((made) => [...made.values()])).toEqual([]);
});
