import { accessSurface, describeFlow } from "@patchbay/access";
import { expect, test } from "vitest";
import { z } from "zod";
import { defineFunction, defineService, FunctionError } from "../src/index.ts";
import { compareAccess } from "../src/access/lock.ts";
import { call } from "./calls.ts";

const base = { description: "A function.", input: z.object({}), roles: "everyone" as const };
const functions = [
  defineFunction({ ...base, name: "find", handler: () => 7 }),
  defineFunction({
    ...base,
    name: "fail",
    handler() {
      throw new FunctionError("Secret.");
    },
  }),
];
const beforeAnswer = () => undefined;
const service = (options: object = { results: "withhold" }) =>
  defineService({ name: "desk", functions, beforeAnswer, ...options });

test("results and failures of handlers say that they are withheld, also without flows", async () => {
  expect(await call(service(), "find", {})).toEqual({ ok: true, value: 7, flow: { withheld: true } });
  expect(await call(service(), "fail", {})).toMatchObject({ message: "Secret.", flow: { withheld: true } });
  expect(await call(service({}), "find", {})).toEqual({ ok: true, value: 7 });
});

test("the manifest says so for each function, next to data-flow rules", () => {
  const rules = ({ manifest }: ReturnType<typeof service>) => manifest.functions.map(({ flow }) => flow);

  expect(rules(service())).toEqual([{ withheld: true }, { withheld: true }]);
  expect(rules(service({ results: "withhold", flows: { mode: "report" } }))[0]).toEqual({
    mode: "report",
    by: [],
    withheld: true,
  });
  expect(rules(service({}))).toEqual([undefined, undefined]);
});

test("withheld results need the hook that lets them pass", () => {
  expect(() => service({ results: "withhold", beforeAnswer: undefined })).toThrow(
    'Service "desk": results: "withhold" needs a beforeAnswer hook, because only an answer that it allows lets results pass.',
  );
  expect(() => service({ results: "hide" })).toThrow('Service "desk": results must be "withhold", or absent.');
});

test("results that are not withheld any more are a widening", () => {
  const [with_, without] = [service(), service({})].map(({ manifest }) => accessSurface(manifest));
  expect(compareAccess(with_!, without!)).toContainEqual(
    expect.objectContaining({ kind: "widening", sentence: "results of find are not withheld any more" }),
  );
  expect(compareAccess(without!, with_!).filter(({ kind }) => kind === "widening")).toEqual([]);
  expect(describeFlow(with_!.functions["find"]!)).toBe("withheld");
});
