import { defineFunction, defineService, secret, untrusted, visibleTo } from "@patchbay/functions";
import { expect, test } from "vitest";
import { z } from "zod";
import { createLabels } from "../../src/flow/labels.ts";

const text = z.string();
const send = (more: object = {}) =>
  defineFunction({
    name: "send",
    description: "Sends.",
    input: z.object({ to: text, body: text }),
    roles: "everyone",
    effect: "destructive",
    handler: () => null,
    ...more,
  });
const service = (flows: object | undefined, ...functions: ReturnType<typeof send>[]) =>
  defineService({ name: "desk", functions, ...(flows && { flows: flows as never }) });

const WRONG: [object, RegExp][] = [
  [{ returns: "strange" }, /returns must be "trusted" or "untrusted"/],
  [{ targets: "caller" }, /targets must be "any"/],
  [{ targets: { to: "model" } }, /targets must be "any"/],
  [{ targets: { recipient: "caller" } }, /targets names "recipient".*Its members are: to, body/],
  [{ sends: "body" }, /sends must be a list/],
  [{ sends: ["text"] }, /sends names "text"/],
  [{ verbs: [1] }, /verbs must be a list of words/],
  [{ foreign: "yes" }, /foreign must be true or false/],
];
test.each(WRONG)("the options %j are refused", (options, message) => {
  expect(() => send(options)).toThrow(message);
});

test.each([{}, { mode: "stop" }, { mode: "ask", by: "admin" }, { mode: "ask", more: 1 }, "ask"])(
  "flows %j is refused",
  (flows) => {
    expect(() => service(flows as object, send({ targets: "any" }))).toThrow(/flows must be an object such as/);
  },
);

test("a destructive function needs targets in a service that asks or denies", () => {
  expect(() => service({ mode: "ask" }, send())).toThrow(/"send" is destructive and has no targets/);
  expect(() => service({ mode: "deny" }, send({ effect: "write", sends: ["body"] }))).toThrow(/sends data/);
  expect(() => service({ mode: "ask" }, send({ targets: "any" }))).not.toThrow();
  expect(() => service({ mode: "ask" }, send({ effect: "write" }))).not.toThrow();
});

test("an approver must be a role of the service", () => {
  const flows = { mode: "ask", by: ["boss"] };
  expect(() => service(flows, send({ targets: "any", roles: ["clerk"] }))).toThrow(/names the role "boss"/);
});

test("the manifest has the rules, and none without flows and labels", () => {
  expect(service(undefined, send()).manifest.functions[0]).not.toHaveProperty("flow");
  expect(
    service({ mode: "ask", by: ["caller"] }, send({ targets: { to: "caller" }, sends: ["body"] })).manifest,
  ).toMatchObject({
    functions: [{ flow: { mode: "ask", by: ["caller"], targets: { to: "caller" }, sends: ["body"] } }],
  });
});

const OUTPUT = z.array(
  z.object({ id: text, from: untrusted(text), card: secret(visibleTo(text, ["staff"])).optional() }),
);

test("labels are found wherever a result has the part", () => {
  const labels = createLabels(OUTPUT, "output")!;

  expect(labels.rules).toEqual({ untrusted: ["[].from"], secret: ["[].card"] });
  expect(labels.of([{ id: "1", from: "a" }])).toEqual({ untrusted: ["[].from"] });
  expect(labels.of([{ id: "1", from: "a", card: "4" }])).toEqual({ untrusted: ["[].from"], secret: ["[].card"] });
  expect(labels.of([])).toEqual({});
});

test.each([
  ["zod 4 with a method after the label", z.object({ a: untrusted(text).min(1).describe("A") })],
  ["raw JSON Schema", { type: "object", properties: { a: { type: "string", "x-untrusted": true } } } as const],
  ["a union", z.union([z.object({ a: untrusted(text) }), z.null()])],
])("labels work in %s", (_, schema) => {
  expect(createLabels(schema, "output")!.of({ a: "x" })).toEqual({ untrusted: ["a"] });
});

test("a label that has no effect, or is not true, is refused", () => {
  expect(() => createLabels(z.object({ a: untrusted(text).transform(Number) }), "output")).toThrow(
    /a label is at a place/,
  );
  expect(() => createLabels({ type: "object", properties: { a: { "x-untrusted": "yes" } } }, "output")).toThrow(
    /must be true/,
  );
});
