import { expect, test } from "vitest";
import { linesOf } from "./access-corpus/lines.ts";
import { desk } from "./support/search-desk.ts";

/** What the calls from the code find for each condition: `a` an allowed call, `d` a denied one. */
async function decisionsOf(conditions: readonly string[]): Promise<[string, string][]> {
  const found = await linesOf<string[]>(
    "solved.ts",
    conditions.map((name) => ({ name, changes: [] })),
  );
  return conditions.map((name, i) => [name, found[i]!.join("")]);
}

test("the search finds an allowed and a denied call from the code of a condition", async () => {
  const conditions = [
    'note === "x1" && code === "x2" && count === 9 && weight === 8 && context.grade === 7',
    "!(note.length < 90)",
    "code.length >= 33 && code.length < 35",
    'note.toUpperCase() === "LOUD" && note !== "LOUD"',
    "count % 13 === 5 && weight % 17 === 3 && count > 500",
    "count ** 2 === 625 && count < 0",
    "(count * 3 + 7) % 101 === 50 && count > 2000",
    "Math.max(count, weight) === 333",
    "(count & 0xf0) === 0x50",
    'code + "-" + note === "east-west"',
    "`${code}:${count}` === 'k:55'",
    '[code, note].join("+") === "a1+b2"',
    "/^(?=.*\\d)(?=.*[a-z])[a-z\\d]{8}$/.test(code)",
    '/^v(\\d+)$/.exec(code)?.[1] === "42"',
    "new Date(code).getUTCFullYear() === 2033",
    'new Date(input.day ?? "2026-01-01") > new Date("2040-01-01")',
    "Number.parseInt(code, 16) === 48879",
    "BigInt(count) === 987n",
    'code.slice(0, 4) === "SHIP" && code.length === 9',
    'code.split("/").length === 4 && code.split("/")[2] === "dock"',
    'tags.length > 0 && tags.every((tag) => tag.startsWith("ok-"))',
    'tags.filter((tag) => tag === "red").length >= 3',
    "new Set(tags).size === 5",
    "note.length === code.length + 7",
    'tags.toSorted().join("|") === "a|b|c" && tags[0] === "c"',
    'URL.canParse(link) && new URL(link).searchParams.get("key") === "open"',
    'Buffer.from(code, "hex").toString("utf8") === "gate"',
    'note.startsWith("{") && JSON.parse(note).a.b === "deep"',
    '"keel" in extra',
    "Object.keys(extra).length === 4",
    'count > 5 ? note === "big5" : code === "small"',
    'note < code && code < "b" && note !== ""',
    'input.plate === "V-12" || (input.plate ?? "").endsWith("77")',
    // Owner functions and records in the code.
    "isLarge(count) && count % 2 === 1",
    'gradeOf(note) > context.grade - 1 && note !== "gold"',
    "berthOf(code)?.owner === context.memberId && context.memberId !== undefined",
    "(berthOf(code)?.depth ?? 0) > 8",
    "context.memberId !== undefined && owners[note] === context.memberId",
    "list.some(({ id, open }) => open && id === note)",
    "list.find(({ id }) => id === code)?.open === false",
  ];

  expect((await decisionsOf(conditions)).filter(([, found]) => found !== "ad")).toEqual([]);
});

/** A service as on its first day: no cases, and records that the search cannot read. */
const OWNED = (imports: string) => `
${imports}
import { readFileSync } from "node:fs";
const orders = new Map(JSON.parse(readFileSync(new URL("orders.json", import.meta.url), "utf8")));
const showOrder = defineFunction({
  name: "show_order", description: "Gets an order.", input: z.object({ order: z.string() }), roles: ["customer"],
  authorize: ({ input, context }) => {
    const order = orders.get(input.order);
    return order !== undefined && order.owner === context.customer;
  },
  handler: () => 1,
});
export default defineService({ name: "shop", functions: [showOrder] });
`;

/** The first-day service with a lock, before and after its owner comparison is deleted. */
async function withoutOwner(options = "") {
  const service = await desk({ "orders.json": '[["W-100", { "owner": "ada" }], ["W-200", { "owner": "ben" }]]' });
  const imports = (await service.read("service.ts")).match(/^import .*$/gm)!;
  const source = OWNED(imports.filter((line) => /functions|zod/.test(line)).join("\n"));
  await service.write(
    "service.ts",
    source.replace("functions:", () => `${options}functions:`),
  );
  await service.lock();
  await service.commit();
  await service.edit("service.ts", " && order.owner === context.customer", "");
  return service;
}

test("deleting the owner comparison of a service without cases fails each command", async () => {
  await using service = await withoutOwner();
  for (const flags of [["--check"], ["--check", "--against", "HEAD"], ["--search", "--against", "HEAD"]])
    expect([flags, await service.access(...flags)]).toMatchObject([flags, { code: 1 }]);
});

test("values of records show a call that the deleted owner comparison denied", async () => {
  await using service = await withoutOwner('records: () => ({ order: ["W-100"], customer: ["ada"] }), ');
  expect(await service.access("--search", "--against", "HEAD")).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('widening   customer allowed, was denied: { input: { order: "W-100" } }'),
  });
});
