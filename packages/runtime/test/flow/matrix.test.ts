import { defineFunction, defineService, type FlowOptions, secret, untrusted } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { accessMatrix, findForbidden, lockOf, parseNever, renderMatrix } from "../../src/access/index.ts";

const text = z.string();
const read = (name: string, output: z.ZodType, roles: string[]) =>
  defineFunction({
    name,
    description: "Reads.",
    input: z.object({}),
    output,
    roles,
    effect: "read",
    handler: () => ({}),
  });

/** `guest` reads strangers' text, and only `clerk` may also read what is private, and send. */
const service = (flows: FlowOptions | undefined, targets: "any" | { to: "caller" } = { to: "caller" }) =>
  defineService({
    name: "desk",
    ...(flows && { flows }),
    functions: [
      read("read_inbox", z.object({ body: untrusted(text) }), ["clerk", "guest"]),
      read("get_user", z.object({ card: secret(text) }), ["clerk"]),
      defineFunction({
        name: "send_mail",
        description: "Sends.",
        input: z.object({ to: text, body: text }),
        roles: ["clerk"],
        effect: "destructive",
        targets,
        sends: ["body"],
        handler: () => null,
      }),
    ],
  });

test("the matrix shows labels and targets, and which roles hold all three", async () => {
  const text = renderMatrix(await accessMatrix(service({ mode: "ask", by: ["clerk"] })));

  expect(text.split("\n")).toEqual([
    "function    none    clerk    guest    flow",
    "get_user    hidden  allowed  hidden   secret",
    "read_inbox  hidden  allowed  allowed  untrusted",
    "send_mail   hidden  allowed  hidden   to caller; sends body",
    "",
    "- Data-flow rules: ask, decided by clerk.",
    "- clerk holds untrusted, private and outward: read_inbox, get_user, send_mail.",
  ]);
});

test("without flows, the matrix has no column for them", async () => {
  expect(renderMatrix(await accessMatrix(service(undefined)))).not.toMatch(/flow|untrusted/);
});

const NEVER = parseNever('{ "flow": ["*untrusted -> *destructive"] }');
test.each([
  [{ mode: "ask" }, { to: "caller" }, []],
  [{ mode: "report" }, { to: "caller" }, ["data from read_inbox may reach send_mail as clerk"]],
  [{ mode: "ask" }, "any", ["data from read_inbox may reach send_mail as clerk"]],
  [undefined, { to: "caller" }, ["data from read_inbox may reach send_mail as clerk"]],
] as const)("a never-list forbids a pair that flows %j with targets %j leave open", async (flows, targets, found) => {
  expect(findForbidden(NEVER, await lockOf(service(flows, targets)))).toEqual(found);
});

test.each(['{"flow":["*untrusted"]}', '{"flow":["*read -> *sends"]}', '{"flow":["a -> b -> c"]}', '{"flow":[1]}'])(
  "the pairs in %s are refused",
  (list) => {
    expect(() => parseNever(list)).toThrow(/"flow" must have pairs such as/);
  },
);
