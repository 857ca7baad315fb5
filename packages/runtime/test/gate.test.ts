import { LIMITS, type CallOutcome } from "@patchbay/protocol";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { defineFunction, defineService, FunctionError, type CallContext } from "../src/index.ts";
import { call, invocationOf, memoryLog, serviceOf } from "./calls.ts";

const id = z.object({ id: z.string() });
const base = { name: "probe", description: "A function under test.", input: id, roles: "everyone" as const };

function textOf(outcome: CallOutcome): string {
  return outcome.ok ? "" : outcome.message;
}

describe("roles", () => {
  const handler = vi.fn(() => "done");
  const service = serviceOf(defineFunction({ ...base, roles: ["support", "admin"], handler }));

  test("a listed role may call", async () => {
    expect(await call(service, "probe", { id: "1" }, { role: "admin" })).toEqual({ ok: true, value: "done" });
  });

  test.each([undefined, "user", "Admin", "admin ", "everyone"])(
    "role %j may not call, and nothing runs",
    async (role) => {
      handler.mockClear();

      const outcome = await call(service, "probe", { id: "1" }, role === undefined ? {} : { role });

      expect(outcome).toMatchObject({ ok: false, code: "unknown_function", rule: "roles" });
      expect(handler).not.toHaveBeenCalled();
    },
  );

  test("a hidden and an unknown function give the same code and message", async () => {
    const hidden = await call(service, "probe", { id: "1" });
    const unknown = await call(serviceOf(), "probe", { id: "1" });

    expect({ ...hidden, rule: "" }).toEqual({ ...unknown, rule: "" });
    expect(unknown).toMatchObject({ code: "unknown_function", rule: "unknown" });
  });

  test.each(["constructor", "__proto__", "toString"])("the name %s is an unknown function", async (name) => {
    expect(await call(service, name, {})).toMatchObject({ code: "unknown_function", rule: "unknown" });
  });

  test("a function for everyone is open with and without a role", async () => {
    const open = serviceOf(defineFunction({ ...base, handler: (_, { role }) => role ?? "none" }));

    expect(await call(open, "probe", { id: "1" })).toEqual({ ok: true, value: "none" });
    expect(await call(open, "probe", { id: "1" }, { role: "any" })).toEqual({ ok: true, value: "any" });
  });

  test("the gate does not apply the default role", async () => {
    const guarded = defineFunction({ ...base, roles: ["guest"], handler: (_, { role }) => role });
    const withDefault = defineService({ name: "desk", defaultRole: "guest", functions: [guarded] });

    expect(withDefault.manifest.defaultRole).toBe("guest");
    expect(await call(withDefault, "probe", { id: "1" })).toMatchObject({ code: "unknown_function" });
    expect(await call(withDefault, "probe", { id: "1" }, { role: "guest" })).toEqual({ ok: true, value: "guest" });
  });
});

describe("authorize", () => {
  function guardedBy(authorize: () => unknown, log = memoryLog()) {
    const handler = vi.fn(() => "done");
    const service = serviceOf(defineFunction({ ...base, authorize: authorize as () => boolean, handler }));
    return { handler, log, outcome: call(service, "probe", { id: "1" }, { log }) };
  }

  test("true allows the call, also from a promise", async () => {
    expect(await guardedBy(() => true).outcome).toEqual({ ok: true, value: "done" });
    expect(await guardedBy(() => Promise.resolve(true)).outcome).toEqual({ ok: true, value: "done" });
  });

  test("a string refuses the call and is the message for the caller", async () => {
    const { outcome, handler } = guardedBy(() => "Only the owner's orders are permitted.");

    expect(await outcome).toEqual({
      ok: false,
      code: "denied",
      message: "Only the owner's orders are permitted.",
      rule: "authorize",
    });
    expect(handler).not.toHaveBeenCalled();
  });

  test.each([false, undefined, null, 0, 1, "", {}, []])("%j refuses", async (decision) => {
    const { outcome, handler } = guardedBy(() => decision);

    expect(await outcome).toMatchObject({
      ok: false,
      code: "denied",
      message: expect.stringContaining("not permitted"),
    });
    expect(handler).not.toHaveBeenCalled();
  });

  test("an exception refuses without the reason, and is logged", async () => {
    const { outcome, log, handler } = guardedBy(() => {
      throw new FunctionError("secret database name");
    });

    expect(await outcome).toMatchObject({ code: "denied", message: "This call is not permitted." });
    expect(log.lines).toContainEqual(expect.objectContaining({ level: "error", message: "authorize failed" }));
    expect(handler).not.toHaveBeenCalled();
  });

  test("receives the parsed input, the role and the context", async () => {
    const authorize = vi.fn(() => true);
    const input = z.object({ id: z.string().transform(Number) });
    const service = serviceOf(defineFunction({ ...base, input, authorize, handler: () => null }));

    await call(service, "probe", { id: "7", extra: 1 }, { role: "support", context: { customerId: "c1" } });

    expect(authorize).toHaveBeenCalledWith({ role: "support", context: { customerId: "c1" }, input: { id: 7 } });
  });
});

describe("the order of the checks", () => {
  const seen: string[] = [];
  const note = (what: string) => {
    seen.push(what);
    return true;
  };
  const context = z.object({ customerId: z.string().refine(() => note("context")) });
  const service = defineService({
    name: "desk",
    context,
    functions: [
      defineFunction({
        ...base,
        roles: ["support"],
        input: z.object({ id: z.string().refine(() => note("input")) }),
        output: z.string().refine(() => note("output")),
        authorize: () => note("authorize"),
        handler: () => String(note("handler")),
      }),
    ],
  });
  const steps = async (args: string | number, customerId: string | number, role: string) => {
    seen.length = 0;
    const outcome = await call(service, "probe", { id: args }, { context: { customerId }, role });
    return { seen: [...seen], rule: outcome.ok ? "none" : outcome.rule };
  };

  test("is roles, context, input, authorize, handler, output", async () => {
    expect(await steps("1", "c", "support")).toEqual({
      seen: ["context", "input", "authorize", "handler", "output"],
      rule: "none",
    });
    expect(await steps("1", "c", "other")).toEqual({ seen: [], rule: "roles" });
    expect(await steps(1, 1, "support")).toEqual({ seen: [], rule: "context" });
    expect(await steps(1, "c", "support")).toEqual({ seen: ["context"], rule: "input" });
  });
});

describe("arguments", () => {
  const input = z.object({ id: z.string(), address: z.object({ zip: z.string() }), tags: z.array(z.number()) });
  const service = serviceOf(defineFunction({ ...base, input, handler: (given) => given }));

  test("every fault has its path", async () => {
    const outcome = await call(service, "probe", { id: 1, address: {}, tags: [1, "x"] });

    expect(outcome).toMatchObject({ code: "invalid_arguments" });
    expect(textOf(outcome)).toMatch(/^Invalid arguments: id: .*; address\.zip: .*; tags\.1: /);
  });

  test.each([
    ["address", '{"zip":"1"}', true],
    ["tags", "[1, 2]", true],
    ["tags", "none", false],
    ["id", '["not read as JSON"]', false],
  ])("%s as the text %s has advice on encoding: %s", async (name, text, advises) => {
    const given = { id: "1", address: { zip: "1" }, tags: [1], [name]: text };
    const outcome = await call(service, "probe", given);

    if (name === "id") expect(outcome).toMatchObject({ ok: true });
    else expect(textOf(outcome).includes("write the value itself, not as text")).toBe(advises);
  });

  test("a long list of faults is shortened", async () => {
    const outcome = await call(service, "probe", { id: "1", address: { zip: "1" }, tags: Array(1000).fill("x") });

    expect(textOf(outcome)).toMatch(/; and 968 more$/);
  });

  test("properties that the schema does not list never reach the handler", async () => {
    const given = { id: "1", address: { zip: "2", x: 1 }, tags: [], isAdmin: true };

    expect(await call(service, "probe", given)).toEqual({
      ok: true,
      value: { id: "1", address: { zip: "2" }, tags: [] },
    });
  });

  test.each(["not json", null, 7, []])("%j instead of an object is refused", async (given) => {
    expect(await call(service, "probe", given)).toMatchObject({ code: "invalid_arguments" });
  });

  test("a schema that throws is a failure with a reference", async () => {
    const log = memoryLog();
    const broken = z.object({
      id: z.string().refine(() => {
        throw new TypeError("internal detail");
      }),
    });

    const outcome = await call(
      serviceOf(defineFunction({ ...base, input: broken, handler: () => 1 })),
      "probe",
      { id: "1" },
      { log },
    );

    expect(outcome).toMatchObject({
      code: "function_failed",
      message: expect.stringMatching(/^The function failed\. Reference: \w+$/),
    });
    expect(log.lines.some(({ level }) => level === "error")).toBe(true);
  });
});

test("a handler receives the context of its call", async () => {
  const seen: CallContext[] = [];
  const service = serviceOf(defineFunction({ ...base, handler: (_, context) => void seen.push(context) }));

  await call(service, "probe", { id: "1" }, { role: "support", context: { customerId: "c1" } });

  expect(seen[0]).toMatchObject({
    role: "support",
    context: { customerId: "c1" },
    threadId: "thr_1",
    sessionId: "ses_1",
    runId: "run_1",
    callId: "call_1",
    attempt: 1,
  });
});

test("progress is sent while the handler runs, and dropped after that or if it is not JSON", async () => {
  const shown: unknown[] = [];
  const log = memoryLog();
  let late = () => {};
  const service = serviceOf(
    defineFunction({
      ...base,
      handler(_, { progress }) {
        progress({ percent: 50 });
        progress(1n);
        progress("x".repeat(LIMITS.resultToModelBytes));
        late = () => progress("late");
      },
    }),
  );

  await call(service, "probe", { id: "1" }, { onProgress: (data) => shown.push(data), log });
  late();

  expect(shown).toEqual([{ percent: 50 }]);
  expect(log.lines.filter(({ message }) => message === "progress dropped")).toHaveLength(2);
});

test("a call does not change its arguments", async () => {
  const given = { id: "1", extra: { a: 1 } };
  const raw = { type: "object", properties: { id: { type: "string" } } };
  const service = serviceOf(
    defineFunction({ ...base, input: raw, handler: (input) => Object.assign(input, { x: 1 }) }),
  );

  await service.invoke(invocationOf("probe", given), { signal: new AbortController().signal, log: memoryLog() });

  expect(given).toEqual({ id: "1", extra: { a: 1 } });
});
