import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { runCommand, temporaryFolder } from "./support/command.ts";

const functionsPackage = fileURLToPath(new URL("../../functions/src/index.ts", import.meta.url));
const zod = fileURLToPath(import.meta.resolve("zod"));
const valibot = createRequire(functionsPackage).resolve("valibot");

const FILES: Record<string, string> = {
  "package.json": '{ "type": "module" }',
  "limits.ts": `export const LIMIT: number = 50;\nexport const UNUSED = 1;`,
  "orders.ts": `
const owners: Record<string, string> = { a: "ada", b: "ben" };
export function ownerOf(order: string): string | undefined { return owners[order]; }
export function countOrders(): number { return Object.keys(owners).length; }`,
  "policy.ts": `
import { LIMIT } from "./limits.ts";
import { ownerOf } from "./orders.ts";
export function createPolicy(rule: (amount: number) => boolean, staff: string[]) {
  return {
    ownOrder({ role, context, input }: any) {
      if (staff.includes(role)) return true;
      return ownerOf(input.order) === context.userId && rule(input.amount) && input.amount <= LIMIT;
    },
  };
}`,
  "service.ts": `
import { defineFunction, defineService } from ${JSON.stringify(functionsPackage)};
import { z } from ${JSON.stringify(zod)};
import { createPolicy } from "./policy.ts";
import { countOrders } from "./orders.ts";
const STAFF = ["boss"];
const policy = createPolicy((amount) => amount > 0, STAFF);
const refund = defineFunction({
  name: "refund", description: "Refunds.", roles: ["staff", "boss"],
  input: z.object({ order: z.string().refine((order) => order !== "x"), amount: z.number() }),
  output: z.object({ id: z.string() }),
  authorize: policy.ownOrder,
  cases: { own: { input: { order: "a", amount: 10 }, context: { userId: "ada" } }, foreign: { input: { order: "b", amount: 10 }, context: { userId: "ada" } } },
  handler: ({ order }) => ({ id: order + countOrders() }),
});
export default defineService({
  name: "desk", functions: [refund],
  context: z.object({ userId: z.string().optional().catch(undefined) }),
  subject: ({ userId }) => userId,
});`,
};

async function desk(more: Record<string, string> = {}) {
  const folder = await temporaryFolder();
  await mkdir(folder.path, { recursive: true });
  for (const [name, text] of Object.entries({ ...FILES, ...more })) await writeFile(join(folder.path, name), text);
  const access = (...args: string[]) => runCommand(["access", ...args], { cwd: folder.path });
  expect(await access("--write")).toMatchObject({ code: 0 });
  return {
    ...folder,
    access,
    /** Replaces a text in a file, and returns the differences that the check prints. */
    async edit(file: string, from: string, to: string): Promise<string[]> {
      const path = join(folder.path, file);
      const text = await readFile(path, "utf8");
      expect(text).toContain(from);
      await writeFile(path, text.replace(from, to));
      const { stdout } = await access("--check");
      await writeFile(path, text);
      return stdout.trimEnd().split("\n");
    },
  };
}

const AUTHORIZE =
  "unproven   authorize of refund, or code that it uses, changed, and no case shows whether it allows more";
const MATCHES = "Access matches access.lock.json.";

describe("a change of code that decides on access", () => {
  test("is unproven wherever the code is, if no case shows it", async () => {
    await using service = await desk();

    expect(
      await service.edit("policy.ts", "input.amount <= LIMIT", "(input.amount <= LIMIT || input.amount > 500)"),
    ).toEqual([AUTHORIZE]);
    expect(await service.edit("limits.ts", "50", "5000")).toEqual([AUTHORIZE]);
    expect(await service.edit("orders.ts", "return owners[order]", "return owners[order] ?? 'eve'")).toEqual([
      AUTHORIZE,
    ]);
    expect(await service.edit("orders.ts", '"ben" }', '"ben", c: "ada" }')).toEqual([AUTHORIZE]);
    expect(await service.edit("service.ts", "amount > 0", "amount > -1")).toEqual([AUTHORIZE]);
    expect(await service.edit("service.ts", '["boss"]', '["boss", "root"]')).toEqual([AUTHORIZE]);
    expect(await service.edit("service.ts", "const policy", 'STAFF.push("root");\nconst policy')).toEqual([AUTHORIZE]);
    expect(await service.edit("service.ts", '!== "x"', '!== "y"')).toEqual([
      "unproven   code in the input schema of refund changed, which the comparison cannot judge",
    ]);
    expect(await service.edit("service.ts", '.refine((order) => order !== "x")', "")).toEqual([
      "unproven   code in the input schema of refund changed, which the comparison cannot judge",
    ]);
    expect(
      await service.edit("service.ts", "subject: ({ userId }) => userId", 'subject: ({ userId }) => userId ?? "all"'),
    ).toEqual(["unproven   subject changed, and no case shows a difference"]);
    expect(await service.edit("service.ts", "catch(undefined)", 'catch("ada")')).toEqual([
      "unproven   code in the schema of the context changed, which the comparison cannot judge",
      'unproven   the context at userId: default "ada" replaces none, and no case shows whether more calls pass',
    ]);
  });

  test("is a widening if a case shows it", async () => {
    await using service = await desk();

    expect(await service.edit("policy.ts", "staff.includes(role)", "true")).toEqual([
      "widening   staff gained case foreign of refund",
    ]);
  });

  test("is unproven if the lock has no fingerprints", async () => {
    await using service = await desk();
    const path = join(service.path, "access.lock.json");
    const lock = JSON.parse(await readFile(path, "utf8")) as { functions: { refund: { code?: object } } };
    delete lock.functions.refund.code;
    await writeFile(path, JSON.stringify(lock));

    expect((await service.access("--check")).stdout).toBe(
      "unproven   the lock has no fingerprints of code, so changes of authorize are not found\n",
    );
  });

  test("is accepted by --write", async () => {
    await using service = await desk();
    await writeFile(join(service.path, "limits.ts"), "export const LIMIT = 60;");

    expect(await service.access("--check")).toMatchObject({ code: 1, stdout: `${AUTHORIZE}\n` });
    expect(await service.access("--write")).toMatchObject({ code: 0 });
    expect(await service.access("--check")).toMatchObject({ code: 0, stdout: `${MATCHES}\n` });
  });
});

test("comments, layout, types and code that does not decide leave the lock valid", async () => {
  await using service = await desk();

  expect(await service.edit("policy.ts", "if (staff", "// staff may do all\n    if   ( staff")).toEqual([MATCHES]);
  expect(await service.edit("limits.ts", ": number", "")).toEqual([MATCHES]);
  expect(await service.edit("limits.ts", "UNUSED = 1", "UNUSED = 2")).toEqual([MATCHES]);
  expect(await service.edit("orders.ts", "Object.keys(owners).length", "7")).toEqual([MATCHES]);
  expect(await service.edit("service.ts", "id: order", "id: '#' + order")).toEqual([MATCHES]);
  expect(await service.edit("service.ts", '"Refunds."', '"Refunds an order."')).toEqual([
    "changed    description of refund changed",
    MATCHES,
  ]);
});

test("a schema that cannot be written as JSON Schema is compared by the code of all files, and its removal is a widening", async () => {
  const text = FILES["service.ts"]!.replace(
    "output: z.object({ id: z.string() })",
    "output: v.object({ id: v.string() })",
  )
    .replace(
      "context: z.object({ userId: z.string().optional().catch(undefined) })",
      "context: v.object({ userId: v.optional(v.string()) })",
    )
    .replace("import { z }", `import * as v from ${JSON.stringify(valibot)};\nimport { z }`);
  await using service = await desk({ "service.ts": text });

  expect(
    await service.edit("service.ts", "{ id: v.string() }", "{ id: v.string(), ssn: v.optional(v.string()) }"),
  ).toEqual([
    "unproven   code in the schema of the context changed, which the comparison cannot judge",
    "unproven   code in the output schema of refund changed, which the comparison cannot judge",
  ]);
  expect(await service.edit("service.ts", "output: v.object({ id: v.string() }),", "")).toContain(
    "widening   boss, staff see everything that the handler of refund returns: the output schema is removed",
  );
  expect(await service.edit("service.ts", "context: v.object({ userId: v.optional(v.string()) }),", "")).toContain(
    "widening   the context of a query has no schema, so it may be any object",
  );
});
