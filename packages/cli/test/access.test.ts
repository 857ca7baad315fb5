import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runCommand, temporaryFolder, type CommandOptions } from "./support/command.ts";

const functionsPackage = fileURLToPath(new URL("../../functions/src/index.ts", import.meta.url));
const desk = fileURLToPath(new URL("../../../examples/retail-desk/", import.meta.url));

/** A service in which `cancel` is the role list of one function; customers read their own orders. */
function source({ cancel = ["agent"], foreign = false } = {}): string {
  return `
import { defineFunction, defineService } from ${JSON.stringify(functionsPackage)};
const input = { type: "object", properties: { orderId: { type: "string" } }, required: ["orderId"] };
const handler = () => { throw new Error("a check must not run this"); };
export default defineService({ name: "desk", roles: ["customer", "agent"], functions: [
  defineFunction({ name: "cancel_order", description: "Cancels.", input, roles: ${JSON.stringify(cancel)}, handler }),
  defineFunction({
    name: "get_order", description: "Gets.", input, roles: ["customer"], handler,
    output: { type: "object", properties: { id: {}, note: { "x-visible-to": ["agent"] } } },
    authorize: ({ input, context }) => ${foreign} || input.orderId === context.orderId,
    cases: { foreignOrder: { input: { orderId: "2" }, context: { orderId: "1" } }, ownOrder: { input: { orderId: "1" }, context: { orderId: "1" } } },
  }),
] });
`;
}

async function folderWith(text: string) {
  const folder = await temporaryFolder();
  await writeFile(join(folder.path, "service.ts"), text);
  return {
    ...folder,
    change: (changed: string) => writeFile(join(folder.path, "service.ts"), changed),
    access: (args: string[] = [], options: CommandOptions = {}) =>
      runCommand(["access", ...args], { cwd: folder.path, ...options }),
    lock: () => readFile(join(folder.path, "access.lock.json"), "utf8"),
  };
}

test("without options it prints the table and how to store it", async () => {
  await using service = await folderWith(source());
  const { code, stdout, stderr } = await service.access();

  expect(code).toBe(0);
  expect(stdout).toBe(
    `
function             none    customer     agent
cancel_order         hidden  hidden       allowed
get_order            hidden  conditional  hidden
  case foreignOrder          denied
  case ownOrder              allowed
  member note                removed
`.trimStart(),
  );
  expect(stderr).toBe("No access.lock.json yet: store this table with --write, and run --check in CI.\n");
});

test("a written lock passes the check until a role is added, which one sentence names", async () => {
  await using service = await folderWith(source());
  expect(await service.access(["--write"])).toMatchObject({ code: 0, stdout: "Wrote access.lock.json.\n" });
  expect(await service.access(["--check"])).toMatchObject({
    code: 0,
    stdout: "Access matches access.lock.json.\n",
    stderr: "",
  });

  await service.change(source({ cancel: ["agent", "customer"] }));
  const { code, stdout, stderr } = await service.access(["--check"]);

  expect(code).toBe(1);
  expect(stdout).toBe("widening   customer gained cancel_order\n");
  expect(stderr).toBe(
    "error: One difference from access.lock.json. If intended, run with --write and commit the file.\n",
  );

  expect(await service.access(["--write"])).toMatchObject({
    stdout: "widening   customer gained cancel_order\nWrote access.lock.json.\n",
  });
  expect(await service.access(["--check"])).toMatchObject({ code: 0 });
});

test("an authorize that allows more fails the check by its case", async () => {
  await using service = await folderWith(source());
  await service.access(["--write"]);
  await service.change(source({ foreign: true, cancel: ["customer"] }));

  const { code, stdout } = await service.access(["--check", "--json"]);

  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    ok: false,
    file: "access.lock.json",
    forbidden: [],
    changes: [
      { kind: "narrowing", about: "roles", functionName: "cancel_order", sentence: "agent lost cancel_order" },
      { kind: "widening", about: "roles", functionName: "cancel_order", sentence: "customer gained cancel_order" },
      {
        kind: "widening",
        about: "authorize",
        functionName: "get_order",
        sentence: "customer gained case foreignOrder of get_order",
      },
    ],
  });
});

test("a check with a missing or malformed lock names a fix", async () => {
  await using service = await folderWith(source());
  expect(await service.access(["--check"])).toMatchObject({
    code: 1,
    stderr: "error: No access.lock.json to compare with. Create it with --write and commit it.\n",
  });

  await writeFile(join(service.path, "access.lock.json"), "<<<<<<< HEAD");
  const { code, stderr } = await service.access(["--check"]);

  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^error: access\.lock\.json is not an access lock: it is not JSON \([^()]*\)\. Restore it, .*\n$/,
  );
});

test("access.never.json forbids access that the lock accepts, and --write refuses it", async () => {
  await using service = await folderWith(source({ cancel: ["agent", "customer"] }));
  await service.access(["--write"]);
  await writeFile(join(service.path, "access.never.json"), '{"cancel_order":["none","customer"]}');

  const { code, stdout, stderr } = await service.access(["--check"]);

  expect({ code, stdout }).toEqual({ code: 1, stdout: "forbidden  customer may call cancel_order\n" });
  expect(stderr).toBe("error: One rule of access.never.json broken. Change the service; --write does not accept it.\n");
  expect(await service.access(["--write"])).toMatchObject({ code: 1, stdout });
  await service.change(source());
  expect(await service.access(["--write"])).toMatchObject({ code: 0 });
  await writeFile(join(service.path, "access.never.json"), '{"cancel_order":"customer"}');
  expect((await service.access(["--check"])).stderr).toBe(
    "error: access.never.json is not a never-list: cancel_order must have a list of roles. Correct it.\n",
  );
});

test("--strict fails for a function whose cases are all allowed", async () => {
  await using service = await folderWith(source());
  await service.access(["--write"]);
  expect(await service.access(["--check", "--strict"])).toMatchObject({ code: 0 });

  await service.change(source({ foreign: true }));
  await service.access(["--write"]);

  expect(await service.access(["--check"])).toMatchObject({ code: 0 });
  expect(await service.access(["--check", "--strict"])).toMatchObject({
    code: 1,
    stdout: "untested   get_order is decided call by call, and no case of it is refused\n",
    stderr: "error: One function has no refused case. Add a case that must be denied.\n",
  });
});

test("a matrix larger than a pipe buffer is printed completely", async () => {
  const roles = Array.from({ length: 400 }, (_, i) => `role_${i}`);
  await using service = await folderWith(`
import { defineFunction, defineService } from ${JSON.stringify(functionsPackage)};
const roles = ${JSON.stringify(roles)};
const one = (_, i) => defineFunction({ name: "f_" + i, description: "x", input: { type: "object" }, roles, handler: () => null });
export default defineService({ name: "large", functions: Array.from({ length: 100 }, one) });
`);
  const { code, stdout } = await service.access(["--json"]);

  expect(code).toBe(0);
  expect(stdout.length).toBeGreaterThan(1_000_000);
  expect(JSON.parse(stdout)).toMatchObject({ service: "large" });
});

test("the lock is next to the service file, for any working folder", async () => {
  await using service = await folderWith(source());
  await using elsewhere = await temporaryFolder();
  const file = join(service.path, "service.ts");

  expect(await runCommand(["access", file, "--write"], { cwd: elsewhere.path })).toMatchObject({ code: 0 });
  expect(JSON.parse(await service.lock())).toMatchObject({
    version: 3,
    functions: { cancel_order: { roles: { agent: "allowed" } } },
  });
});

test("the table is one JSON object, or Markdown", async () => {
  await using service = await folderWith(source());
  const matrix = JSON.parse((await service.access(["--json"])).stdout) as object;

  expect(matrix).toMatchObject({ service: "desk", roles: ["none", "customer", "agent"] });
  expect((await service.access(["--markdown"])).stdout).toContain("| `cancel_order` | hidden | hidden | allowed |");
});

test("--explain prints the deciding rule", async () => {
  await using service = await folderWith(source());
  const explain = (...args: string[]) => service.access(["--explain", ...args]);

  expect(await explain("cancel_order", "--role", "customer")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^denied \(rule: roles\)\nThe role list of cancel_order \(agent\) does not include role customer: /,
    ) as string,
  });
  const own = ["get_order", "--role", "customer", "--input", '{"orderId":"1"}', "--context", '{"orderId":"1"}'];
  expect((await explain(...own)).stdout).toMatch(/^allowed .*\n.*\nRemoved from the result for this role: note\.\n$/);
  expect(JSON.parse((await explain("get_ordr", "--json")).stdout)).toMatchObject({
    decision: "denied",
    rule: "unknown",
  });
});

test("arguments that are not JSON fail with a reason", async () => {
  await using service = await folderWith(source());

  expect(await service.access(["--explain", "get_order", "--input", "{orderId"])).toMatchObject({
    code: 1,
    stderr: "error: --input must be JSON, got {orderId\n",
  });
  expect(await service.access(["--explain", "get_order", "--context", "[]"])).toMatchObject({
    code: 1,
    stderr: "error: --context must be a JSON object.\n",
  });
});

test("a file that does not load fails with its error", async () => {
  await using service = await folderWith(source({ cancel: ["customr"] }));
  const { code, stderr } = await service.access(["--check"]);

  expect(code).toBe(1);
  expect(stderr).toContain('names the role "customr", which is not among customer, agent');
});

test("the locks of the examples are current, and wider access in the retail desk fails its check", async () => {
  const quickstart = fileURLToPath(new URL("../../../examples/quickstart/service.ts", import.meta.url));
  for (const file of [quickstart, join(desk, "service.ts")])
    expect(await runCommand(["access", file, "--check"])).toMatchObject({ code: 0 });

  await using folder = await temporaryFolder();
  const service = join(folder.path, "service.ts");
  await writeFile(
    service,
    `import { MANAGERS } from ${JSON.stringify(join(desk, "policy.ts"))};
MANAGERS.push("agent");
const { default: service } = await import(${JSON.stringify(join(desk, "service.ts"))});
export default service;`,
  );
  await copyFile(join(desk, "access.lock.json"), join(folder.path, "access.lock.json"));

  const { code, stdout } = await runCommand(["access", service, "--check"]);

  expect(code).toBe(1);
  expect(stdout).toContain("widening   agent gained reset_store\n");
});
