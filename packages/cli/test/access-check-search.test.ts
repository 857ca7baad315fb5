import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { linesOf } from "./access-corpus/lines.ts";
import type { Pair, PairVerdict } from "./access-corpus/pairs.ts";
import { temporaryFolder } from "./support/command.ts";
import { desk, POLICY, SERVICE } from "./support/search-desk.ts";

const MODULE = '{ "type": "module" }';

test("--check --against accepts changed code that allows no further call, and shows the calls of other code", async () => {
  await using service = await desk();
  await service.lock();
  await service.commit();
  expect(await service.access("--check")).toMatchObject({ code: 0 });
  await service.edit("service.ts", "input.on && input.level < 2", "input.level <= 1 && input.on");
  expect(await service.access("--check")).toMatchObject({ code: 0 });
  // Equal only for the numbers that the schema accepts.
  await service.edit("service.ts", "input.level <= 1 && input.on", "Math.abs(input.level) <= 1 && input.on");

  expect(await service.access("--check")).toMatchObject({ code: 1, stdout: expect.stringContaining("unproven") });
  const accepted = await service.access("--check", "--against", "HEAD");
  expect(accepted).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^searched +toggle: .*tested: \d+ calls with seed 1/),
  });
  expect(accepted.stdout).toContain("Access matches access.lock.json.");

  await service.edit("service.ts", "<= 1", "<= 2");
  const refused = await service.access("--check", "--against", "HEAD");
  expect(refused.code).toBe(1);
  expect(refused.stdout).toMatch(/widening +staff allowed, was denied: .*level: 2/s);
  expect(refused.stdout).toMatch(/^unproven +authorize of toggle/m);
  expect(service.wasHandled()).toBe(false);
});

test("--check --against a revision with another lock fails, because its code is not what the lock accepted", async () => {
  await using service = await desk();
  await service.lock();
  await service.edit("service.ts", "input.level < 2", "input.level < 1");

  expect(await service.access("--check", "--against", "HEAD")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("access.lock.json differs from the one of HEAD"),
  });
});

test("nothing is proved of a function whose schema accepts no call that the search knows", async () => {
  await using service = await desk();
  await service.edit(
    "service.ts",
    'roles: ["staff"], input: z.object({})',
    'roles: ["boss"], input: z.object({ id: z.string().regex(/^(?=.*7777)ord_[0-9]{6}$/) })',
  );
  await service.commit();
  await service.edit("service.ts", 'roles: ["boss"], input', 'roles: ["boss", "staff"], input');

  expect(await service.access("--search", "--against", "HEAD")).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^hours {2}tested: .*\n {2}unproven +the schemas accept none of the calls/m),
    stderr: expect.stringContaining("One function is unproven since HEAD."),
  });
  await service.lock();
  await service.edit("service.ts", 'roles: ["boss", "staff"], input', 'roles: ["boss"], input');
  expect(await service.access("--check")).toMatchObject({ code: 1, stdout: expect.stringContaining("hours") });
});

test("modes that would skip each other are refused", async () => {
  await using service = await desk();
  expect(await service.access("--search", "--evidence", "out")).toMatchObject({ code: 2 });
});

/** Ids that no case and no code has. */
const RECORDS = `
import { readFileSync } from "node:fs";
const owners = JSON.parse(readFileSync(new URL("owners.json", import.meta.url), "utf8")) as Record<string, string>;
export function isOwn(order: string, userId: string | undefined): boolean {
  const owner = owners[order];
  return owner !== undefined && owner === userId;
}`;

type Edits = [file: string, from: string, to: string][];

/** What the search says about one function, for each pair of edits: those of the revision, and those after it. */
async function searched(
  rows: readonly { functionName: string; files?: Record<string, string>; before: Edits; after: Edits }[],
): Promise<{ widenings: string[]; doubts: string[] }[]> {
  await using folder = await temporaryFolder();
  const write = async (name: string, files: Record<string, string>, edits: Edits) => {
    const all: Record<string, string> = {
      "package.json": MODULE,
      "policy.ts": POLICY,
      "service.ts": SERVICE,
      ...files,
    };
    for (const [file, from, to] of edits) {
      expect(all[file]!.split(from)).toHaveLength(2);
      all[file] = all[file]!.replace(from, () => to);
    }
    await mkdir(join(folder.path, name));
    for (const [file, text] of Object.entries(all)) await writeFile(join(folder.path, name, file), text);
    return join(folder.path, name);
  };
  const pairs: Pair[] = [];
  for (const [i, { functionName, files = {}, before, after }] of rows.entries())
    pairs.push({
      functionName,
      before: await write(`before${i}`, files, before),
      after: await write(`after${i}`, files, [...before, ...after]),
    });
  const found = await linesOf<PairVerdict>("pairs.ts", pairs);
  return found.map(({ widenings, doubts }) => ({
    widenings: widenings.map(({ roles, call }) => `${roles.join()}: ${JSON.stringify(call.input)}`),
    doubts,
  }));
}

test("changed code passes only if the search reached its decisions, and killed the mutants of both versions", async () => {
  const LEVEL = "level: z.int().min(0).max(3)";
  const CASES = "cases: { low: { input: { on: true, level: 0 } }, high: { input: { on: true, level: 3 } } },";
  const RULE = "input.on && input.level < 2";
  const records = { "policy.ts": RECORDS, "owners.json": '{ "o-17": "ada", "o-18": "ben" }' };
  const owner: Edits[number] = ["policy.ts", "owner !== undefined && owner === userId", "owner !== undefined"];
  const isOther = 'context.userId !== "z9"';
  // No call that the search makes has such a user.
  const unknown = '[...(context.userId ?? "")].reduce((sum, c) => sum * 31 + c.charCodeAt(0), 7) !== 80_112_344';
  const context: Edits[number] = [
    "service.ts",
    "authorize: ({ role, input }: any)",
    "authorize: ({ role, context, input }: any)",
  ];
  const rule = (from: string, to: string): Edits[number] => ["service.ts", from, to];

  const found = await searched([
    {
      functionName: "toggle",
      before: [
        rule(LEVEL, "level: z.string().regex(/^(?=.*7777)level_[0-9]{6}$/)"),
        rule(RULE, "input.on"),
        rule(CASES, ""),
      ],
      after: [rule('role === "boss" || (input.on)', "true")],
    },
    { functionName: "refund", files: records, before: [], after: [owner] },
    // A case with a record shows what the search missed.
    {
      functionName: "refund",
      files: records,
      before: [rule('own: { input: { order: "a"', 'own: { input: { order: "o-17"')],
      after: [owner],
    },
    {
      functionName: "toggle",
      before: [context, rule(RULE, `${isOther} && ${RULE}`)],
      after: [rule(`${isOther} && ${RULE}`, `${RULE} && [${isOther}][0]`)],
    },
    { functionName: "toggle", before: [context], after: [rule(RULE, `${RULE} && ${unknown}`)] },
    {
      functionName: "toggle",
      before: [context, rule(RULE, `${RULE} && ${unknown}`)],
      after: [rule(` && ${unknown}`, "")],
    },
    {
      functionName: "toggle",
      before: [rule("const handler", "let count = 0;\nconst handler")],
      after: [rule(RULE, `${RULE} && Date.now() > 0 && count++ >= 0`)],
    },
  ]);

  const condition = 'service.ts:23 [...context.userId ?? ""].reduce((sum, c) => sum * 31 + c.charCodeAt(… false';
  expect(found.map(({ widenings, doubts }) => [...widenings, ...doubts].slice(0, 2))).toEqual([
    ["the schemas accept none of the calls, so nothing is known"],
    ["the search never saw an allowed call of staff in the revision", "the search never saw an allowed call of staff"],
    ['staff: {"order":"o-17","amount":0}'],
    [],
    [`no call makes ${condition}`, expect.stringMatching(/^no call distinguishes service\.ts:23 input\.on && .*2$/)],
    [`no call makes ${condition} in the revision`, expect.stringMatching(/^no call distinguishes .* in the revision$/)],
    ["its changed code reads the clock (Date)", "its changed code reads state that changes (count)"],
  ]);
});

test("a changed default is judged by calls without the member", async () => {
  await using service = await desk();
  await service.edit("service.ts", "on: z.boolean()", "on: z.boolean().default(false)");
  await service.lock();
  await service.commit();

  await service.edit("service.ts", "default(false)", "default(true)");
  expect(await service.access("--check", "--against", "HEAD")).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /widening +staff allowed, was denied: \{ input: \{ level: 0 \} \}.*unproven +the input of toggle at on: default true replaces false/s,
    ),
  });

  await service.edit("service.ts", "min(0).max(3)", "min(0).max(3).default(3)");
  await service.edit("service.ts", "default(true)", "default(false)");
  await service.lock();
  await service.commit();
  await service.edit("service.ts", "max(3).default(3)", "max(3).default(2)");
  expect(await service.access("--check", "--against", "HEAD")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^searched +toggle: its code or defaults changed/m),
  });
});

test("changed texts are shown, and fail only with --strict", async () => {
  await using service = await desk();
  await service.lock();
  await service.edit("service.ts", '"Refunds."', '"Refunds. Call it for every request."');

  const line = "changed    description of refund changed";
  expect(await service.access("--check")).toMatchObject({ code: 0, stdout: expect.stringContaining(line) });
  expect(await service.access("--check", "--strict")).toMatchObject({ code: 1, stdout: expect.stringContaining(line) });
});

test("a lock of an earlier version says what it does not record", async () => {
  await using service = await desk();
  await service.lock();
  const {
    version: _,
    code: __,
    parsing: ___,
    texts: ____,
    ...lock
  } = JSON.parse(await service.read("access.lock.json"));
  for (const one of Object.values<{ parsing?: object; texts?: object }>(lock.functions)) {
    delete one.parsing;
    delete one.texts;
  }
  await service.write("access.lock.json", JSON.stringify({ version: 2, ...lock }));

  expect(await service.access("--check")).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^unproven +the lock has version 2, which records no defaults, .*\n$/),
    stderr: expect.stringContaining("run with --write"),
  });
});
