import { expect, test } from "vitest";
import { desk } from "./support/search-desk.ts";

/** A rule that compares the owner with the caller, of whom one or both may be missing. */
const SERVICE = (imports: string, { cases = "" } = {}) => `
${imports}
const orders = new Map<string, { customer?: string }>([["W100", { customer: "ada" }], ["W101", {}]]);
const getOrder = defineFunction({
  name: "get_order", description: "Gets an order.", input: z.object({ order: z.string() }),
  roles: ["customer", "support", "guest"],
  authorize: ({ role, input, context }) =>
    role === "support" || orders.get(input.order)?.customer === context["customer"],
  cases: {
    own: { input: { order: "W100" }, context: { customer: "ada" }, roles: ["customer"] },
    other: { input: { order: "W100" }, context: { customer: "ben" }, roles: ["customer"] },${cases}
  },
  handler: ({ order }) => ({ order }),
});
export default defineService({ name: "shop", functions: [getOrder] });
`;

async function shop(more?: { cases: string }) {
  const service = await desk();
  const imports = (await service.read("service.ts")).match(/^import .*$/gm)!;
  await service.write("service.ts", SERVICE(imports.filter((line) => /functions|zod/.test(line)).join("\n"), more));
  await service.lock();
  return service;
}

test("calls without a context that are denied with one fail the search, --strict and mutants", async () => {
  await using service = await shop();
  const line = /anonymous {2}customer, guest may call get_order: \{ input: \{ order: "\w+" \} \}/;
  for (const flags of [["--search"], ["--check", "--strict"], ["--mutants", "--min-killed", "50"]])
    expect(await service.access(...flags)).toMatchObject({ code: 1, stdout: expect.stringMatching(line) });
});

test("a rule that permits a call without a context, and refuses it with one, is a finding of the attacks", async () => {
  await using service = await shop();
  const { code, stdout } = await service.attack();
  expect(code).toBe(1);
  expect(stdout).toContain(
    "customer, anonymous calls: get_order is permitted without an identity, and refused with one",
  );
});

test("--strict asks for an allowed and a refused case of each restricted role, and accepts declared anonymous calls", async () => {
  await using service = await shop({ cases: '\n    unowned: { input: { order: "W101" } },' });
  const { code, stdout } = await service.access("--check", "--strict");
  expect({ code, lines: stdout.trimEnd().split("\n") }).toEqual({
    code: 1,
    lines: ["untested   get_order has no denied case of guest"],
  });
});
