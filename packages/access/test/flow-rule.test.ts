import type { FlowRules, FunctionManifest } from "@patchbay/protocol";
import type { JsonValue } from "@patchbay/kit";
import { expect, test } from "vitest";
import { callersWords, contextForms, evidenceOf, flowFault } from "../src/index.ts";

const STRING = { type: "string" };
const PROPERTIES = {
  to: STRING,
  body: STRING,
  amounts: { type: "object" },
  people: { type: "array" },
  id: { type: "number" },
};

const send = (flow: FlowRules, more: Partial<FunctionManifest> = {}): FunctionManifest => ({
  name: "send_mail",
  description: "Sends a mail.",
  inputSchema: { type: "object", properties: { ...PROPERTIES, email: STRING } },
  roles: "everyone",
  conditional: false,
  effect: "destructive",
  idempotent: false,
  timeoutMs: 1_000,
  flow: { mode: "ask", ...flow },
  ...more,
});

interface Scene {
  query?: string;
  context?: JsonValue;
  /** Earlier calls: arguments and result. */
  results?: [JsonValue, JsonValue][];
  /** Paths in the results that strangers can write. */
  untrusted?: string[];
  tainted?: boolean;
  secret?: boolean;
}

function faultIn(given: JsonValue, flow: FlowRules, scene: Scene, more: Partial<FunctionManifest> = {}) {
  const { query = "", context = {}, results = [], untrusted = [], tainted = false, secret = false } = scene;
  const evidence = results.map(([asked, value], i) =>
    evidenceOf({
      runId: "run",
      callId: `call_${i}`,
      functionName: "read",
      arguments: asked,
      outcome: { ok: true, value, flow: { untrusted } },
    }),
  );
  const words = callersWords([query], [...contextForms(context)]);
  return flowFault(send(flow, more), given, { words, results: evidence, tainted, secret })?.rule;
}

const TRUSTED: FlowRules = { targets: { to: "trusted" } };
const MAIL = { to: "bob@x.com" };
const CONTACTS: [JsonValue, JsonValue] = [
  {},
  [
    { name: "Bob", mail: "bob@x.com" },
    { name: "Eve", mail: "eve@x.com" },
  ],
];

const SOURCES: [string, FlowRules, Scene, string | undefined][] = [
  ["nowhere", TRUSTED, {}, "target"],
  ["the query", TRUSTED, { query: "Mail bob@x.com" }, undefined],
  ["the context", TRUSTED, { context: { me: ["BOB@x.com"] } }, undefined],
  ["a trusted result", TRUSTED, { results: [CONTACTS] }, undefined],
  ["a trusted result, where only the caller counts", { targets: { to: "caller" } }, { results: [CONTACTS] }, "target"],
  ["an untrusted part", TRUSTED, { results: [CONTACTS], untrusted: ["[].mail"] }, "target"],
  ["an untrusted result", TRUSTED, { results: [CONTACTS], untrusted: ["$"] }, "target"],
  ["a text in a result", TRUSTED, { results: [[{}, { note: "Write to bob@x.com" }]] }, "target"],
  [
    "a result that repeats its argument",
    TRUSTED,
    { results: [[{ q: "bob@x.com" }, { q: "bob@x.com", hits: [] }]] },
    "target",
  ],
  ["anywhere, where that is allowed", { targets: { to: "any" } }, {}, undefined],
];
test.each(SOURCES)("a value from %s", (_, flow, scene, rule) => {
  expect(faultIn(MAIL, flow, scene)).toBe(rule);
});

const CHOICES: [string, [JsonValue, JsonValue][], string | undefined][] = [
  ["Mail Bob.", [CONTACTS], undefined],
  ["Mail Eve.", [CONTACTS], "choice"],
  ["Mail Bob and Eve.", [CONTACTS], "choice"],
  ["Read what Bob wrote.", [CONTACTS], "choice"],
  [
    "Mail Bob.",
    [
      [
        {},
        [
          { name: "Bob", mail: "bob@x.com" },
          { name: "Bob", mail: "eve@x.com" },
        ],
      ],
    ],
    "choice",
  ],
  ["Mail Bob.", [[{}, { name: "Bob", mails: [{ at: "bob@x.com" }] }]], undefined],
  ["Mail Bob.", [[{}, { name: "Bob", mails: [{ at: "bob@x.com" }, { at: "eve@x.com" }] }]], "choice"],
  ["Mail Bob.", [[{ name: "Bob" }, { mail: "bob@x.com" }]], undefined],
  ["Mail Bob.", [[{ name: "Eve" }, { mail: "bob@x.com" }]], "choice"],
  [
    "Mail the tax office.",
    [
      [
        {},
        [
          { label: "City tax office", mail: "bob@x.com" },
          { label: "Bank", mail: "b@x.com" },
        ],
      ],
    ],
    undefined,
  ],
];
test.each(CHOICES)("in a tainted run, %j chooses among %j: %s", (query, results, rule) => {
  expect(faultIn(MAIL, TRUSTED, { query, results, tainted: true })).toBe(rule);
  expect(faultIn(MAIL, TRUSTED, { query, results })).toBeUndefined();
});

test("each text of a list, and each name of a record, is a target", () => {
  const people = { targets: { people: "caller" } } as const;
  expect(faultIn({ people: ["bob@x.com", "eve@x.com"] }, people, { query: "Mail bob@x.com" })).toBe("target");
  expect(faultIn({ people: [{ email: "bob@x.com" }] }, people, { query: "Mail bob@x.com" })).toBeUndefined();
  const amounts = { targets: { amounts: "caller" } } as const;
  expect(faultIn({ amounts: { "acc-1": 25 } }, amounts, { query: "Send acc-1 25" })).toBeUndefined();
  expect(faultIn({ amounts: { "acc-1": 25, "acc-2": 25 } }, amounts, { query: "Send acc-1 25" })).toBe("target");
});

test("a number under four digits never counts", () => {
  expect(faultIn({ id: 13 }, { targets: { id: "caller" } }, { query: "Mail 13" })).toBe("target");
  expect(faultIn({ id: 1313 }, { targets: { id: "caller" } }, { query: "Mail 1313" })).toBeUndefined();
});

test("after a secret, what leaves is asked for", () => {
  const sends = { sends: ["body"] };
  expect(faultIn({ body: "Hello" }, sends, { secret: true })).toBe("secret");
  expect(faultIn({ body: "Hello" }, {}, { secret: true })).toBeUndefined();
});

test.each([
  "see https://evil.example/?d=1",
  "[see](https://evil.example)",
  "<a href='//evil.example/x'>",
  "www.evil.example",
  "evil.example/path",
  "write to eve@evil.example",
  "ftp://evil.example",
])("in a tainted run, the link in %j is asked for unless the caller wrote it", (body) => {
  const sends = { sends: ["body"] };
  const link = /[^\s()[\]<>'"]*evil\.example[^\s()[\]<>'"]*/.exec(body)![0].replace(/^\/\//, "");
  expect(faultIn({ body }, sends, { tainted: true })).toBe("link");
  expect(faultIn({ body }, sends, { tainted: true, query: `Mail ${link}` })).toBeUndefined();
  expect(faultIn({ body }, sends, {})).toBeUndefined();
});
