import { expect, test } from "vitest";
import { desk } from "./support/search-desk.ts";

test("--check --against accepts changed code that allows no further call, and shows the calls of other code", async () => {
  await using service = await desk();
  await service.lock();
  await service.commit();
  expect(await service.access("--check")).toMatchObject({ code: 0 });
  await service.edit("service.ts", "input.on && input.level < 2", "input.level <= 1 && input.on");

  expect(await service.access("--check")).toMatchObject({ code: 1, stdout: expect.stringContaining("unproven") });
  const accepted = await service.access("--check", "--against", "HEAD");
  expect(accepted).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^searched +toggle: .*tested: \d+ calls with seed 1/),
  });
  expect(accepted.stdout).toContain("Access matches access.lock.json.");

  await service.edit("service.ts", "input.level <= 1", "input.level <= 2");
  const refused = await service.access("--check", "--against", "HEAD");
  expect(refused.code).toBe(1);
  expect(refused.stdout).toMatch(/widening +staff allowed, was denied: .*level: 2/s);
  expect(refused.stdout).toMatch(/^unproven +authorize of toggle/m);
  expect(service.wasHandled()).toBe(false);
});

test("--check --against a revision with another lock fails, because its code is not what the lock accepted", async () => {
  await using service = await desk();
  await service.lock();
  await service.edit("service.ts", "input.level < 2", "input.level <= 1");

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
    'roles: ["boss"], input: z.object({ id: z.string().regex(/^ord_[0-9]{6}$/) })',
  );
  await service.commit();
  await service.edit("service.ts", 'roles: ["boss"], input', 'roles: ["boss", "staff"], input');

  expect((await service.access("--search", "--against", "HEAD")).stdout).toMatch(
    /^hours {2}tested: .*\n {2}The schemas accept none of the calls/m,
  );
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
  await service.edit("service.ts", "level: z.int().min(0).max(3)", "level: z.string().regex(/^level_[0-9]{6}$/)");
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
