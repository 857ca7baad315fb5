import { defineFunction, defineService, type FlowOptions, secret, untrusted } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import {
  accessMatrix,
  explainAccess,
  findForbidden,
  lockOf,
  parseNever,
  renderMatrix,
} from "../../src/access/index.ts";

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
const service = (flows: FlowOptions | undefined, targets: "any" | { to: "caller" | "trusted" } = { to: "caller" }) =>
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
    "- clerk has 2 pairs of source and sink, 2 proved, 0 open.",
  ]);
});

test("an explanation names the data-flow rules of a call, and the sources that a role holds", async () => {
  const needs = async (role: string, functionName: string) =>
    (await explainAccess(service({ mode: "deny" }), { functionName, role })).flow;

  expect(await needs("clerk", "send_mail")).toEqual([
    { rule: "target", needs: "to has a value that the caller gave", sources: [] },
    { rule: "mention", needs: "the caller asked for this call with to", sources: ["read_inbox"] },
    { rule: "secret", needs: "no call sends body", sources: ["get_user"] },
    { rule: "link", needs: "body has no link that the caller did not write", sources: ["read_inbox"] },
  ]);
  const trusted = await explainAccess(service({ mode: "deny" }, { to: "trusted" }), {
    functionName: "send_mail",
    role: "clerk",
  });
  expect(trusted.flow?.map(({ rule }) => rule)).toEqual(["target", "mention, choice", "secret", "link"]);
  expect(await needs("guest", "send_mail")).toBeUndefined();
  expect(await needs("clerk", "read_inbox")).toBeUndefined();
  expect((await explainAccess(service(undefined), { functionName: "send_mail", role: "clerk" })).flow).toBeUndefined();
});

test("without flows, the matrix has no column for them", async () => {
  expect(renderMatrix(await accessMatrix(service(undefined)))).not.toMatch(/flow|untrusted/);
});

test("the matrix lists each pair, and names those that are open", async () => {
  const { flows, ...matrix } = await accessMatrix(service({ mode: "ask", by: ["clerk"] }, { to: "trusted" }));

  expect(flows?.pairs).toEqual([
    { role: "clerk", source: "read_inbox", label: "untrusted", sink: "send_mail", verdict: "asked", proof: "open" },
    { role: "clerk", source: "get_user", label: "secret", sink: "send_mail", verdict: "asked", proof: "proved" },
  ]);
  expect(renderMatrix({ ...matrix, flows: flows! })).toContain(
    "- clerk has 2 pairs of source and sink, 1 proved, 1 open: read_inbox → send_mail.",
  );
});

test("a never-list may forbid secrets that leave", async () => {
  const never = parseNever('{ "flow": ["*secret -> *sends"] }');

  expect(findForbidden(never, await lockOf(service({ mode: "ask" }, "any")))).toEqual([]);
  expect(findForbidden(never, await lockOf(service({ mode: "report" })))).toEqual([
    "data from get_user may reach send_mail as clerk",
  ]);
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
