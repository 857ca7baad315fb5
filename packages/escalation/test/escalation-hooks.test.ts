import { expect, test } from "vitest";
import { z } from "zod";
import { defineFunction, defineService, type Service } from "@patchbay/runtime";
import { runEscalationSuite } from "../src/suite.ts";

const hooked = (): Service =>
  defineService({
    name: "hooked",
    functions: [
      defineFunction({
        name: "f",
        description: "F.",
        input: z.object({}),
        roles: ["a"],
        effect: "read",
        handler: () => 1,
      }),
    ],
    beforeQuery: () => undefined,
    beforeAnswer: () => undefined,
  });

test("texts that hooks withhold are tried and do not leak", async () => {
  const { findings, results, notes } = await runEscalationSuite(hooked());

  expect(findings).toEqual([]);
  expect(notes).toEqual([]);
  const tried = results.filter(({ attack }) => attack === "texts that a hook withholds");
  expect(tried.map(({ attempts }) => attempts)).toEqual([5, 3]);
});

test("a wrapper of the service that skips the hooks is found", async () => {
  const serve = (service: Service): Service => ({ ...service, runHook: async () => ({ verdict: "passed" }) });

  const { findings } = await runEscalationSuite(hooked(), { serve });

  const leaked = findings.filter(({ role, kind }) => role === "a" && kind === "leaked").map(({ detail }) => detail);
  expect(leaked).toContain("a text that beforeAnswer withheld is in answer.response");
  expect(leaked).toContain("a text that beforeQuery withheld is in history.messages.content");
});

test("a hook that fails on the texts of the suite is noted", async () => {
  const service = defineService({
    name: "broken",
    functions: [],
    beforeAnswer() {
      throw new Error("no words list");
    },
  });

  expect((await runEscalationSuite(service)).notes).toEqual([
    "beforeAnswer failed on a text of the suite. Call it with runHookAs().",
  ]);
});
