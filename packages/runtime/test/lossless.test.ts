import { inspect } from "node:util";
import { Readable } from "node:stream";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineFunction } from "../src/index.ts";
import { toJson } from "../src/json.ts";
import { call, invocationOf, memoryLog, serviceOf } from "./calls.ts";

class Secretive {
  readonly #data = 1;
  get data() {
    return this.#data;
  }
}
class Handlers {
  readonly run = () => 1;
}
class NotFound extends Error {
  readonly status = 404;
}
class Bundled$1 {
  readonly #id = "W100";
  id = () => this.#id;
}
class Order {
  readonly id = "W100";
  readonly note?: string;
}
class Nothing {
  readonly note = undefined;
}

async function* pages() {
  yield 1;
}

const BODY = /read its body first/;
const BASE64 = /base64 text/;
const SPREAD = /spread it first/;
const PLAIN = /return a plain object with its data, or add toJSON\(\)/;

const LOST: readonly (readonly [name: string, value: object, remedy: RegExp])[] = [
  ["Error", new Error("disk full"), /throw it, or return its message/],
  ["NotFound", new NotFound("no order"), /throw it/],
  ["DOMException", new DOMException("x"), /throw it/],
  ["Response", new Response("x"), BODY],
  ["Request", new Request("http://localhost/"), BODY],
  ["promise", Promise.resolve(1), /await it first/],
  // oxlint-disable-next-line unicorn/no-thenable -- as query builders are
  ["promise", { then: () => undefined }, /await it first/],
  ["Buffer", Buffer.from("hi"), BASE64],
  ["Uint8Array", new Uint8Array(2), BASE64],
  ["Float64Array", new Float64Array(2), BASE64],
  ["DataView", new DataView(new ArrayBuffer(1)), BASE64],
  ["ArrayBuffer", new ArrayBuffer(2), BASE64],
  ["SharedArrayBuffer", new SharedArrayBuffer(2), BASE64],
  ["Blob", new Blob(["x"]), BASE64],
  ["File", new File(["x"], "a.txt"), BASE64],
  ["Map", new Map([["a", 1]]), SPREAD],
  ["Set", new Set([1]), SPREAD],
  ["Headers", new Headers({ a: "1" }), SPREAD],
  ["URLSearchParams", new URLSearchParams("a=1"), SPREAD],
  ["FormData", new FormData(), SPREAD],
  ["Iterator", [1].values(), SPREAD],
  ["ReadableStream", new Response("x").body!, /Array\.fromAsync/],
  ["Readable", Readable.from(["x"]), /Array\.fromAsync/],
  ["AsyncGenerator", pages(), /Array\.fromAsync/],
  ["String", Object("text") as object, /return its valueOf\(\)/],
  ["Number", Object(5) as object, /valueOf/],
  ["Boolean", Object(true) as object, /valueOf/],
  ["BigInt", Object(1n) as object, /valueOf/],
  ["WeakMap", new WeakMap(), PLAIN],
  ["WeakSet", new WeakSet(), PLAIN],
  ["WeakRef", new WeakRef({}), PLAIN],
  ["RegExp", /x/, PLAIN],
  ["Secretive", new Secretive(), PLAIN],
  ["Handlers", new Handlers(), PLAIN],
  ["Bundled", new Bundled$1(), PLAIN],
  ["Object", Object.create({ inherited: 1 }) as object, PLAIN],
];

describe.each(LOST)("the data of %s", (name, value, remedy) => {
  test("are not lost without a word, wherever it is", () => {
    for (const [place, holder] of [
      ["the value", value],
      ["order.items[1]", { order: { items: [1, value] } }],
      ["made", { made: { toJSON: () => value } }],
    ] as const) {
      expect(() => toJson(holder)).toThrow(`${place} is a ${name}: `);
      expect(() => toJson(holder)).toThrow(remedy);
    }
  });
});

test.each([
  ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
  ["an address", new URL("http://localhost/a"), "http://localhost/a"],
  ["an instance with members", new Order(), { id: "W100" }],
  ["an instance whose members are undefined", new Nothing(), {}],
  ["an error with toJSON", Object.assign(new Error("x"), { toJSON: () => ({ code: 1 }) }), { code: 1 }],
  ["an empty object", {}, {}],
  ["an object without a prototype", Object.assign(Object.create(null) as object, { a: 1 }), { a: 1 }],
  ["a function as a member", { a: 1, f: () => 1 }, { a: 1 }],
  [
    "the same object twice",
    [LOST, LOST].map(({ length }) => ({ length })),
    [{ length: LOST.length }, { length: LOST.length }],
  ],
])("%s is copied as JSON", (_, value, expected) => {
  expect(toJson(value)).toEqual(expected);
});

test("an object in two places is copied twice", () => {
  const shared = { a: 1 };

  expect(toJson({ first: shared, list: [shared, shared] })).toEqual({ first: shared, list: [shared, shared] });
});

test("a cycle is named once, at its first place", () => {
  const order: Record<string, unknown> = { id: 1 };
  order["lines"] = [{ order }];

  expect(() => toJson({ order })).toThrow(/^order\.lines\[0\]\.order is circular: it contains itself/);
});

/** What the owner's log says about a call whose handler returns this. */
async function logged(result: () => unknown, output?: z.ZodType) {
  const log = memoryLog();
  const read = defineFunction({
    name: "read",
    description: "Reads.",
    input: z.object({}),
    roles: "everyone",
    effect: "read",
    ...(output && { output }),
    handler: async () => result() as never,
  });
  const outcome = await call(serviceOf(read), "read", {}, { log });
  return { outcome, log };
}

test.each([
  ["without an output schema", undefined],
  ["with an output schema that requires nothing", z.object({ total: z.number().optional() })],
])("a call whose handler returns a response fails, %s", async (_, output) => {
  const { outcome, log } = await logged(() => new Response("{}"), output);

  expect(outcome).toMatchObject({ ok: false, code: "function_failed" });
  expect(inspect(log.lines[0]?.fields["error"])).toContain("the value is a Response: read its body first");
});

test("a schema may convert bytes and take some members of an error", async () => {
  const { outcome: text } = await logged(
    () => Buffer.from("hi"),
    z.instanceof(Buffer).transform((bytes) => bytes.toString("base64")),
  );
  const { outcome: taken } = await logged(() => new NotFound("x"), z.object({ status: z.number() }));

  expect(text).toEqual({ ok: true, value: "aGk=" });
  expect(taken).toEqual({ ok: true, value: { status: 404 } });
});

test("open arguments that become bytes are recorded as they were sent", async () => {
  const input = z.looseObject({ file: z.string().transform((text) => Buffer.from(text, "base64")) });
  const save = defineFunction({
    name: "save",
    description: "Saves.",
    input,
    roles: "everyone",
    handler: ({ file }) => file.length,
  });
  const reached: unknown[] = [];
  const outcome = await serviceOf(save).invoke(invocationOf("save", { file: "aGk=", extra: 1 }), {
    signal: new AbortController().signal,
    log: memoryLog(),
    onReached: (args) => void reached.push(args),
  });

  expect(outcome).toEqual({ ok: true, value: 2 });
  expect(reached).toEqual([]);
});
