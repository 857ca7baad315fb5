import { expect, test } from "vitest";
import { desk } from "./support/search-desk.ts";

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

test("changed code behind a schema that accepts no known call remains unproven", async () => {
  await using service = await desk();
  await service.edit(
    "service.ts",
    "level: z.int().min(0).max(3)",
    "level: z.string().regex(/^(?=.*7777)level_[0-9]{6}$/)",
  );
  await service.edit("service.ts", "input.on && input.level < 2", "input.on");
  await service.edit(
    "service.ts",
    "cases: { low: { input: { on: true, level: 0 } }, high: { input: { on: true, level: 3 } } },",
    "",
  );
  await service.lock();
  await service.commit();
  await service.edit("service.ts", 'role === "boss" || (input.on)', "true");

  const check = await service.access("--check", "--against", "HEAD");
  expect(check).toMatchObject({ code: 1, stdout: expect.stringMatching(/^unproven +authorize of toggle/m) });
});

/** Ids that no case and no code has. */
const RECORDS = `
import { readFileSync } from "node:fs";
const owners = JSON.parse(readFileSync(new URL("owners.json", import.meta.url), "utf8")) as Record<string, string>;
export function isOwn(order: string, userId: string | undefined): boolean {
  const owner = owners[order];
  return owner !== undefined && owner === userId;
}`;

test("a search that reached no allowed call passes nothing", async () => {
  await using service = await desk({ "policy.ts": RECORDS, "owners.json": '{ "o-17": "ada", "o-18": "ben" }' });
  await service.edit("service.ts", 'own: { input: { order: "a"', 'own: { input: { order: "c"');
  await service.lock();
  await service.commit();
  await service.edit("policy.ts", "owner !== undefined && owner === userId", "owner !== undefined");

  const reason = /^refund .*\n {2}unproven +the search never saw an allowed call of staff in the revision$/m;
  for (const mode of ["--check", "--search"])
    expect(await service.access(mode, "--against", "HEAD")).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(reason),
    });

  // A case with a record shows what the search missed.
  await service.edit("service.ts", 'own: { input: { order: "c"', 'own: { input: { order: "o-17"');
  const shown = await service.access("--search", "--against", "HEAD");
  expect(shown.stdout).toMatch(/widening +staff allowed, was denied: \{ input: \{ order: "o-17"/);
});

test("changed code passes only if the searched calls kill its mutants, and those of the code before", async () => {
  await using service = await desk();
  await service.edit(
    "service.ts",
    "input.on && input.level < 2",
    'input.on && context.userId !== "z9" && input.level < 2',
  );
  await service.edit("service.ts", "authorize: ({ role, input }: any)", "authorize: ({ role, context, input }: any)");
  await service.lock();
  await service.commit();
  await service.edit(
    "service.ts",
    'context.userId !== "z9" && input.level < 2',
    'input.level < 2 && context.userId !== "z9"',
  );
  expect(await service.access("--check", "--against", "HEAD")).toMatchObject({ code: 0 });

  // No call that the search makes has such a user.
  const unknown = ' && [...(context.userId ?? "")].reduce((sum, c) => sum * 31 + c.charCodeAt(0), 7) !== 80_112_344';
  await service.edit("service.ts", 'userId !== "z9"', `userId !== "z9"${unknown}`);
  expect(await service.access("--check", "--against", "HEAD")).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/unproven +no call makes service\.ts:\d+ \[.* false$/m),
  });

  await service.lock();
  await service.commit();
  await service.edit("service.ts", unknown, "");
  expect(await service.access("--check", "--against", "HEAD")).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/unproven +no call makes service\.ts:\d+ \[.* false in the revision$/m),
  });
});

test("changed code that reads the clock, random numbers or state is named and never passes", async () => {
  await using service = await desk();
  await service.edit("service.ts", "const handler", "let count = 0;\nconst handler");
  await service.lock();
  await service.commit();
  await service.edit(
    "service.ts",
    "input.on && input.level < 2",
    "input.on && input.level < 2 && Date.now() > 0 && count++ >= 0",
  );

  const { code, stdout } = await service.access("--check", "--against", "HEAD");
  expect(code).toBe(1);
  expect(stdout).toContain("unproven   its changed code reads the clock (Date)");
  expect(stdout).toContain("unproven   its changed code reads state that changes (count)");
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
