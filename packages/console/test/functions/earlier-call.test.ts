import type { RunTrace, Span } from "@patchbay/protocol/console";
import { expect, test } from "vitest";
import { argumentsDraft, earlierCall } from "../../src/pages/functions/earlier-call.ts";
import { shapeOf } from "../../src/parts/schema-form/field-shape.ts";

const call = (id: string, name: string, input: unknown, attributes: Span["attributes"] = {}) =>
  ({ id, kind: "call", name, input, attributes }) as unknown as Span;

const runWith = (spans: Span[], context: object = {}) => ({ spans, context }) as unknown as RunTrace;

const shape = shapeOf({ type: "object", properties: { seconds: { type: "number" } }, required: ["seconds"] });

test("the form gets the arguments and the context of the chosen call, or of the first", () => {
  const run = runWith([call("c1", "slow", { seconds: 4 }), call("c2", "slow", { seconds: 5 })], { shop: 1 });

  expect(earlierCall(run, "slow")).toEqual({ arguments: { seconds: 4 }, context: '{\n  "shop": 1\n}' });
  expect(earlierCall(run, "slow", "c2")?.arguments).toEqual({ seconds: 5 });
  expect(earlierCall(run, "other")).toBeUndefined();
});

test("arguments of which the trace has only a part are not used", () => {
  const run = runWith([call("c1", "slow", { seconds: 4 }, { truncated: ["input", "output"] })]);

  expect(earlierCall(run, "slow")).toEqual({ arguments: undefined, context: "" });
  const largeResult = runWith([call("c1", "slow", { seconds: 4 }, { truncated: ["output"] })]);
  expect(earlierCall(largeResult, "slow")?.arguments).toEqual({ seconds: 4 });
});

test("arguments that fields cannot show are shown as JSON", () => {
  expect(argumentsDraft(shape, { seconds: 4 })).toEqual({ as: "form", draft: { seconds: "4" } });
  expect(argumentsDraft(shape, { seconds: 4, extra: 1 })).toEqual({
    as: "json",
    text: '{\n  "seconds": 4,\n  "extra": 1\n}',
  });
  expect(argumentsDraft(shape, undefined)).toEqual({ as: "form", draft: undefined });
});
