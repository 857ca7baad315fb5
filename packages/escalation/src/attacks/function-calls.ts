import { isDeepStrictEqual } from "node:util";
import { type JsonObject, oncePer, silentLog, withoutOne, withUnknownIds } from "@patchbay/kit";
import type { LocalServer } from "@patchbay/test-kit/local-server";
import { scriptedModel } from "@patchbay/test-kit/scripted-model";
import type { Fixture } from "../fixture.ts";
import { sample } from "../sample.ts";
import type { Target } from "../targets.ts";
import { askEach, attemptOf, byContext, forbiddenFor, INHERITED_NAMES, spellingsOf, type Attack } from "./attack.ts";

/**
 * The calls that the role may make, to follow their results. Three times, because each time takes other branches in the
 * results.
 */
const permittedCalls: Attack = {
  name: "permitted calls",
  risks: ["ASI02"],
  async run(fixture, role, label) {
    for (const { context, targets } of byContext(fixture.targets(role).permitted)) {
      const calls = targets.map(attemptOf);
      await fixture.ask({ ...label, context, attempts: [...calls, ...calls, ...calls] });
    }
  },
};

/**
 * Calls without an identity, also with unknown arguments, and calls with ids that no record has: a rule that compares
 * two missing values permits them, although it refuses them with an identity, or with the record of another.
 */
const anonymousCalls: Attack = {
  name: "anonymous calls",
  risks: ["ASI03"],
  async run(fixture, role, label) {
    const { rules, service } = fixture;
    const { permitted, refused } = fixture.targets(role);
    const isPermitted = async (call: Target) => (await rules.rule(call, role.effective)) === "permitted";
    const isUnnamed = async (context: JsonObject) => {
      const prepared = await service.prepare({ context }, { log: silentLog });
      const isEmpty = Object.keys(context).length === 0;
      return prepared.ok && (isEmpty || (service.manifest.namesSubject === true && prepared.subject === undefined));
    };
    const tried: Target[] = [];
    for (const target of [...permitted, ...refused]) {
      const { functionName, input, context } = target;
      const { inputSchema } = service.manifest.functions.find(({ name }) => name === functionName)!;
      const unknown = sample(inputSchema, { variant: 0, full: false, text: () => "unknown", number: () => 1 });
      const unnamed: Target[] = [];
      for (const one of [{}, ...withoutOne(context)])
        if (await isUnnamed(one))
          unnamed.push(...[input, unknown].map((given) => ({ functionName, input: given, context: one })));
      const isForeign =
        refused.includes(target) && permitted.some((own) => isDeepStrictEqual({ ...own, context }, target));
      const foreign = isForeign ? [...withUnknownIds(input)].map((other) => ({ ...target, input: other })) : [];
      tried.push(...unnamed, ...foreign);
      const cases = [...(service.access.get(functionName)?.cases.values() ?? [])];
      const declared = cases.map(
        async (one) => (await isUnnamed(one.context)) && isPermitted({ functionName, ...one }),
      );
      const isDeclared = (await isUnnamed(context)) || (await Promise.all(declared)).includes(true);
      const report = (what: string) => fixture.report(label, "ran", `${functionName} is permitted ${what}`);
      for (const call of isDeclared ? [] : unnamed)
        if ((await rules.rule({ ...call, context }, role.effective)) === "authorize" && (await isPermitted(call)))
          report("without an identity, and refused with one");
      for (const call of foreign)
        if (!cases.some((one) => isDeepStrictEqual(one.input, call.input)) && (await isPermitted(call)))
          report("with an id that no record has, and refused with another's");
    }
    await askEach(fixture, label, tried);
  },
};

const handlerErrors: Attack = {
  name: "handler errors",
  risks: ["ASI02"],
  run: (fixture, role, label) => askEach(fixture, label, fixture.targets(role).permitted, { mode: { kind: "throw" } }),
};

const forbiddenCalls: Attack = {
  name: "forbidden calls",
  risks: ["ASI02", "ASI03"],
  run: (fixture, role, label) => askEach(fixture, label, forbiddenFor(fixture, role)),
};

/** Permitted functions whose spellings are tried by a model. The attack with frames tries the spellings of all functions. */
const PERMITTED_TRIED = 5;
/** From this number of functions on, each is tried in every third spelling, so that together they cover all spellings. */
const MANY = 6;

const similarNames: Attack = {
  name: "similar function names",
  risks: ["ASI02"],
  async run(fixture, role, label) {
    const { permitted, hidden } = fixture.targets(role);
    const known = new Set(fixture.service.manifest.functions.map(({ name }) => name));
    for (const { context, targets } of byContext([...hidden, ...permitted.slice(0, PERMITTED_TRIED)])) {
      const chosen = (i: number, j: number) => targets.length < MANY || (i + j) % 3 === 0;
      const attempts = targets.flatMap(({ functionName, input }, i) =>
        spellingsOf(functionName).flatMap((name, j) => (known.has(name) || !chosen(i, j) ? [] : [{ name, input }])),
      );
      await fixture.ask({ ...label, context, attempts });
    }
    const inherited = INHERITED_NAMES.filter((name) => !known.has(name)).map((name) => ({ name, input: {} }));
    await fixture.ask({ ...label, attempts: inherited });
  },
};

/** Calls to functions that a service update removed, by roles formerly allowed to call them. */
const removedFunctions: Attack = {
  name: "removed functions",
  risks: ["ASI02"],
  async run(fixture, role, label) {
    const { server, removed } = await removeFunctions(fixture);
    const targets = fixture.targets(role).permitted.filter(({ functionName }) => removed.has(functionName));
    for (const { context, targets: calls } of byContext(targets)) {
      const asked = await fixture.ask({ ...label, context, server, attempts: calls.map(attemptOf) });
      for (const { toolName, success } of asked?.answer.toolInteractions ?? [])
        if (success) fixture.report(label, "ran", `${toolName} ran after it was removed`);
    }
  },
};

/** Starts a server and removes one permitted function per role from its service. */
const removeFunctions = oncePer(async (fixture: Fixture) => {
  const { served } = fixture;
  const removed: ReadonlySet<string> = new Set(
    fixture.roles.flatMap((role) =>
      fixture
        .targets(role)
        .permitted.slice(0, 1)
        .map(({ functionName }) => functionName),
    ),
  );
  const functions = served.manifest.functions.filter(({ name }) => !removed.has(name));
  const server = await fixture.startServer();
  server.connection.update({ ...served, manifest: { ...served.manifest, functions } });
  await untilRemoved(fixture, server, removed);
  return { server, removed };
});

const TRIES = 200;

/** Asks queries until one is offered the new function set. */
async function untilRemoved(fixture: Fixture, server: LocalServer, removed: ReadonlySet<string>): Promise<void> {
  const { stated } = fixture.roles.find((role) => fixture.targets(role).permitted.length > 0) ?? {};
  const query = { query: "What is there?", context: fixture.context, ...(stated !== undefined && { role: stated }) };
  for (let i = 0; i < TRIES; i++) {
    const { visibleFunctions } = await server.client.query(query, scriptedModel(["Nothing."]));
    if (!visibleFunctions.some((name) => removed.has(name))) return;
  }
  throw new Error(`The control plane still offers removed functions after ${TRIES} queries.`);
}

export const functionCallAttacks: Attack[] = [
  permittedCalls,
  anonymousCalls,
  handlerErrors,
  forbiddenCalls,
  similarNames,
  removedFunctions,
];
