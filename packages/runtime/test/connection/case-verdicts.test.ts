import { LIMITS, Manifest, RuntimeFrame } from "@patchbay/protocol";
import { afterEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { defineFunction, defineService, everyone } from "../../src/index.ts";
import { withCaseVerdicts } from "../../src/connection/case-verdicts.ts";
import { memoryLog } from "../calls.ts";
import { plane, runtimeOf } from "./hand-plane.ts";

afterEach(() => void vi.useRealTimers());

const ran: string[] = [];
const base = { description: "x", input: z.object({ id: z.string() }), handler: () => void ran.push("handler") };
const secret = { input: { id: "secret-1" } };

const service = defineService({
  name: "desk",
  functions: [
    defineFunction({
      ...base,
      name: "get",
      roles: ["agent", "customer"],
      authorize: ({ role, input }) => role === "agent" || input.id === "own",
      approval: { by: ["agent"], when: ({ input }) => input.id === "large" },
      cases: {
        own: { input: { id: "own" } },
        large: { input: { id: "large" } },
        foreign: { input: { id: "foreign" }, roles: ["customer"] },
      },
    }),
    defineFunction({ ...base, name: "hours", roles: everyone, cases: { any: secret } }),
    defineFunction({ ...base, name: "erase", roles: ["agent"], approval: { by: ["agent"] }, cases: { any: secret } }),
    defineFunction({ ...base, name: "plain", roles: ["agent"] }),
  ],
});

test("a runtime sends the verdicts of the cases, without their arguments", async () => {
  const started = await plane();
  runtimeOf(started.url, service);

  const { manifest, cases } = await (await started.link()).next("hello");

  expect(cases).toBeUndefined();
  expect(manifest.functions.map(({ name, cases }) => [name, cases])).toEqual([
    [
      "get",
      [
        { name: "own", verdicts: { agent: "allowed", customer: "allowed" } },
        { name: "large", verdicts: { agent: "approval", customer: "denied" } },
        { name: "foreign", verdicts: { customer: "denied" } },
      ],
    ],
    ["hours", [{ name: "any", verdicts: { none: "allowed", agent: "allowed", customer: "allowed" } }]],
    ["erase", [{ name: "any", verdicts: { agent: "approval" } }]],
    ["plain", undefined],
  ]);
  expect(Manifest.parse(manifest)).toEqual(manifest);
  expect(JSON.stringify(manifest)).not.toContain("secret-1");
  expect(ran).toEqual([]);
});

test("a runtime with reportCases sends the cases that fit, with arguments, contexts and roles", async () => {
  const log = memoryLog();
  const large = { input: { id: "x".repeat(LIMITS.reportedCasesUnits) } };
  const desk = defineService({
    name: "desk",
    functions: [
      defineFunction({
        ...base,
        name: "get",
        roles: ["agent"],
        cases: { large, own: { input: { id: "own" }, context: { desk: "north" }, roles: ["agent"] }, other: secret },
      }),
    ],
  });
  const started = await plane();
  runtimeOf(started.url, desk, { reportCases: true, log });

  const hello = await (await started.link()).next("hello");

  expect(hello.cases).toEqual([
    { functionName: "get", name: "own", input: { id: "own" }, context: { desk: "north" }, roles: ["agent"] },
    { functionName: "get", name: "other", input: { id: "secret-1" }, context: {} },
  ]);
  expect(RuntimeFrame.parse(hello)).toEqual(hello);
  expect(log.lines).toContainEqual(
    expect.objectContaining({ level: "warn", message: "some cases are not reported: they exceed the limit" }),
  );
});

test("a runtime sends the lock that it has, unless it exceeds the limit", async () => {
  const log = memoryLog();
  const accessLock = { version: 2, functions: {} };
  const started = await plane();
  runtimeOf(started.url, service, { accessLock });
  const hello = await (await started.link()).next("hello");
  const large = { ...accessLock, context: { title: "x".repeat(LIMITS.reportedLockUnits) } };
  const other = await plane();
  runtimeOf(other.url, service, { accessLock: large, log });

  expect(hello.lock).toEqual(accessLock);
  expect(RuntimeFrame.parse(hello)).toEqual(hello);
  expect(await (await other.link()).next("hello")).not.toHaveProperty("lock");
  expect(log.lines).toContainEqual(
    expect.objectContaining({ message: "the access lock is not shown in the console: it exceeds the limit" }),
  );
});

const blocked = (authorize: () => Promise<boolean>) =>
  defineService({
    name: "desk",
    functions: [defineFunction({ ...base, name: "get", roles: ["agent"], authorize, cases: { any: secret } })],
  });

test("a service whose checks hang connects without verdicts", async () => {
  vi.useFakeTimers();
  const log = memoryLog();
  const hanging = blocked(() => new Promise(() => {}));

  const manifest = withCaseVerdicts(hanging, log);
  await vi.advanceTimersByTimeAsync(3_000);

  expect(await manifest).toBe(hanging.manifest);
  expect(log.lines).toMatchObject([{ level: "warn", message: expect.stringContaining("took too long") }]);
});

test("an authorize that throws denies its case", async () => {
  const manifest = await withCaseVerdicts(
    blocked(() => Promise.reject(new Error("away"))),
    memoryLog(),
  );

  expect(manifest.functions[0]?.cases).toEqual([{ name: "any", verdicts: { agent: "denied" } }]);
});

test("a case that its function does not accept leaves the verdicts out", async () => {
  const log = memoryLog();
  const misfit = defineFunction({
    ...base,
    name: "get",
    input: z.object({ id: z.string().refine(async (id) => id !== "secret-1") }),
    roles: ["agent"],
    authorize: () => true,
    cases: { any: secret },
  });
  const asynchronous = defineService({ name: "desk", functions: [misfit] });

  expect(await withCaseVerdicts(asynchronous, log)).toBe(asynchronous.manifest);
  expect(log.lines).toMatchObject([{ level: "warn", message: expect.stringContaining("cannot be checked") }]);
});
