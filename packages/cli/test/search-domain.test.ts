import type { JsonObject, JsonValue } from "@patchbay/kit";
import { expect, test } from "vitest";
import { defineFunction, defineService } from "@patchbay/functions";
import {
  asyncProperty,
  assert,
  boolean,
  constantFrom,
  oneof,
  option,
  record,
  shuffledSubarray,
  tuple,
  type Arbitrary,
} from "@patchbay/test-support/properties";
import { domainOf } from "../../access-lab/src/search/domain.ts";
import { factsOf } from "@patchbay/access-lab/search/facts";
import { judgeOf } from "@patchbay/access-lab/search/judge";
import { compareVersions, type Version } from "@patchbay/access-lab/search/search";

/** `.ci/full` tries 10,000. */
const SERVICES = Number(process.env["PATCHBAY_TEST_SERVICES"] ?? 150);

const VALUES: readonly JsonValue[] = [true, false, null, 0, 1, 2, 3, "a", "b"];

/** A member of the arguments or of the context, as a schema and as a predicate that does not read the schema. */
interface Member {
  schema: JsonObject;
  accepts: (value: JsonValue) => boolean;
}

const MEMBERS: readonly Member[] = [
  { schema: { type: "boolean" }, accepts: (value) => typeof value === "boolean" },
  { schema: { enum: ["a", "b"] }, accepts: (value) => value === "a" || value === "b" },
  { schema: { const: "a" }, accepts: (value) => value === "a" },
  { schema: { type: "integer", minimum: 0, maximum: 2 }, accepts: (value) => typeof value === "number" && value <= 2 },
  {
    schema: { type: "integer", exclusiveMinimum: 0, maximum: 3 },
    accepts: (value) => typeof value === "number" && value > 0,
  },
  { schema: { type: ["boolean", "null"] }, accepts: (value) => typeof value === "boolean" || value === null },
  { schema: { anyOf: [{ const: 1 }, { type: "null" }] }, accepts: (value) => value === 1 || value === null },
];

interface Shape {
  members: Record<string, { member: number; isRequired: boolean }>;
}

/** A small rule over the role and the members, as a function of both. */
type Rule =
  | { kind: "is"; of: "input" | "context"; name: string; value: JsonValue }
  | { kind: "role"; role: string }
  | { kind: "not"; rule: Rule }
  | { kind: "and" | "or"; rules: [Rule, Rule] };

const ROLES = ["staff", "boss"];

const shape = (names: string[]): Arbitrary<Shape> =>
  record(
    Object.fromEntries(
      names.map((name) => [name, record({ member: constantFrom(...MEMBERS.keys()), isRequired: boolean() })]),
    ),
  ).map((members) => ({ members }));

const leaf: Arbitrary<Rule> = oneof(
  record({ kind: constantFrom("role" as const), role: constantFrom(...ROLES) }),
  record({
    kind: constantFrom("is" as const),
    of: constantFrom("input" as const, "context" as const),
    name: constantFrom("x", "y"),
    value: constantFrom(...VALUES),
  }),
);
const inner: Arbitrary<Rule> = oneof(leaf, record({ kind: constantFrom("not" as const), rule: leaf }));
const rule: Arbitrary<Rule> = oneof(
  inner,
  record({ kind: constantFrom("and" as const, "or" as const), rules: tuple(inner, inner) }),
);

interface Small {
  input: Shape;
  context: Shape;
  rule: Rule;
  roles: string[];
}

const small: Arbitrary<Small> = record({
  input: shape(["x", "y"]),
  context: shape(["x"]),
  rule,
  roles: shuffledSubarray(ROLES, { minLength: 1 }),
});

const holds = (one: Rule, call: { role: string | undefined; input: JsonObject; context: JsonObject }): boolean => {
  if (one.kind === "role") return call.role === one.role;
  if (one.kind === "is") return call[one.of][one.name] === one.value;
  if (one.kind === "not") return !holds(one.rule, call);
  const [a, b] = one.rules.map((part) => holds(part, call));
  return one.kind === "and" ? a! && b! : a! || b!;
};

function schemaOf({ members }: Shape): JsonObject {
  const required = Object.keys(members).filter((name) => members[name]!.isRequired);
  const properties = Object.entries(members).map(([name, { member }]) => [name, MEMBERS[member]!.schema] as const);
  return { type: "object", properties: Object.fromEntries(properties), required, additionalProperties: false };
}

let handled = 0;

async function versionOf({ input, context, rule: one, roles }: Small): Promise<Version> {
  const service = defineService({
    name: "small",
    roles: ROLES,
    context: schemaOf(context),
    functions: [
      defineFunction({
        name: "act",
        description: "Acts.",
        roles,
        input: schemaOf(input),
        authorize: ({ role, input: about, context: from }) => holds(one, { role, input: about, context: from }),
        handler: () => void handled++,
      }),
    ],
  });
  return { facts: await factsOf(service, new Set()), judge: judgeOf(service) };
}

function objectsOf(names: readonly string[]): JsonObject[] {
  let found: JsonObject[] = [{}];
  for (const name of names)
    found = [...found, ...found.flatMap((one) => VALUES.map((value) => ({ ...one, [name]: value })))];
  return found;
}

const INPUTS = objectsOf(["x", "y"]);
const CONTEXTS = objectsOf(["x"]);

const matches = ({ members }: Shape, value: JsonObject): boolean =>
  Object.entries(members).every(([name, { member, isRequired }]) =>
    Object.hasOwn(value, name) ? MEMBERS[member]!.accepts(value[name]!) : !isRequired,
  );

const passes = (one: Small, call: { role: string; input: JsonObject; context: JsonObject }): boolean =>
  one.roles.includes(call.role) &&
  matches(one.input, call.input) &&
  matches(one.context, call.context) &&
  holds(one.rule, call);

/** The roles for which some call of all values passes in one version and not in the other. */
function rolesThatGain(before: Small, after: Small): string[] {
  return ROLES.filter((role) =>
    INPUTS.some((input) =>
      CONTEXTS.some((context) => passes(after, { role, input, context }) && !passes(before, { role, input, context })),
    ),
  );
}

test(`the exhaustive search agrees with brute force on ${SERVICES} pairs of small services`, async () => {
  await assert(
    asyncProperty(small, option(small), rule, async (before, other, changed) => {
      const after = other ?? { ...before, rule: changed };
      const comparisons = await compareVersions(await versionOf(before), await versionOf(after), {
        seed: 1,
        checks: 12_000,
        timeMs: 600_000,
      });

      const [{ word, widenings, narrowings } = { word: "", widenings: [], narrowings: [] }] = comparisons;
      const rolesIn = (differences: readonly { roles: string[] }[]) => differences.flatMap(({ roles }) => roles).sort();
      expect(word).toBe("proved");
      expect(rolesIn(widenings)).toEqual(rolesThatGain(before, after).sort());
      expect(rolesIn(narrowings)).toEqual(rolesThatGain(after, before).sort());
    }),
    { numRuns: SERVICES },
  );
  expect(handled).toBe(0);
});

test("a domain has every value, or is not known", () => {
  expect(domainOf({ type: "array", items: { type: "boolean" }, maxItems: 2 }, 100)).toHaveLength(7);
  expect(domainOf({ $ref: "#/$defs/a", $defs: { a: { enum: ["x", "y"] } } }, 100)).toEqual(["x", "y"]);
  expect(domainOf({ type: "object", properties: { a: { type: "string" } } }, 100)).toBeUndefined();
  expect(domainOf({ type: "object", properties: {}, additionalProperties: true }, 100)).toBeUndefined();
  expect(domainOf({ type: "object", additionalProperties: { type: "boolean" } }, 100)).toBeUndefined();
  expect(
    domainOf({ type: "object", properties: {}, allOf: [{ properties: { a: { const: 1 } } }] }, 100),
  ).toBeUndefined();
  expect(domainOf({ type: "integer", minimum: 0, maximum: 1_000 }, 100)).toBeUndefined();
  expect(domainOf({ type: "integer", minimum: 0 }, 100)).toBeUndefined();
  expect(
    domainOf(
      {
        $ref: "#/$defs/a",
        $defs: { a: { anyOf: [{ type: "null" }, { type: "array", maxItems: 1, items: { $ref: "#/$defs/a" } }] } },
      },
      100,
    ),
  ).toBeUndefined();
  expect(domainOf({}, 100)).toBeUndefined();
});

/** A service whose one function takes many values. */
async function openVersion(): Promise<Version> {
  const service = defineService({
    name: "small",
    functions: [
      defineFunction({
        name: "act",
        description: "Acts.",
        roles: ROLES,
        input: { type: "object", properties: { x: { type: "string" }, y: { type: "number" }, z: { type: "number" } } },
        authorize: () => true,
        handler: () => void handled++,
      }),
    ],
  });
  return { facts: await factsOf(service, new Set()), judge: judgeOf(service) };
}

test("a search that the time ends says how many calls it did not try", async () => {
  const version = await openVersion();

  const [cut] = await compareVersions(version, version, { seed: 1, checks: 3_000, timeMs: 0 });
  const [whole] = await compareVersions(version, version, { seed: 1, checks: 3_000, timeMs: 600_000 });

  expect(cut).toMatchObject({ calls: 200, planned: 1_000 });
  expect(whole!.calls).toBeGreaterThan(200);
  expect(whole).not.toHaveProperty("planned");
});

test("the same seed tries the same calls on a loaded machine", async () => {
  const version = await openVersion();
  const triedWith = async (turns: number): Promise<string> => {
    const tried: unknown[] = [];
    const judge: Version["judge"] = async (functionName, columns, calls) => {
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
      tried.push(...calls);
      return await version.judge(functionName, columns, calls);
    };
    await compareVersions({ ...version, judge }, version, { seed: 1, checks: 3_000, timeMs: 600_000 });
    return JSON.stringify(tried);
  };

  expect(await triedWith(50)).toBe(await triedWith(0));
});
