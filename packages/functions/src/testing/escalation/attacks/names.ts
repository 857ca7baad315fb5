import { INHERITED_NAMES, spellingsOf } from "../spellings.ts";
import { attemptOf, byContext, type Attack } from "./attack.ts";

/** What a role may do, so that it is seen where the results get to; three times, so that other branches of results come. */
const permittedCalls: Attack = {
  name: "what is permitted",
  async run(stage, role, attack) {
    for (const { context, targets } of byContext(stage.targets(role).permitted)) {
      const calls = targets.map(attemptOf);
      await stage.ask({ attack, role, context, attempts: [...calls, ...calls, ...calls] });
    }
  },
};

const handlerErrors: Attack = {
  name: "errors of handlers",
  async run(stage, role, attack) {
    for (const { context, targets } of byContext(stage.targets(role).permitted))
      await stage.ask({ attack, role, context, attempts: targets.map(attemptOf), mode: { kind: "throw" } });
  },
};

const byName: Attack = {
  name: "forbidden by name",
  async run(stage, role, attack) {
    const { hidden, refused } = stage.targets(role);
    for (const { context, targets } of byContext([...hidden, ...refused]))
      await stage.ask({ attack, role, context, attempts: targets.map(attemptOf) });
  },
};

/** Of what is permitted a few show whether names are taken as they stand: the frames try them all. */
const PERMITTED_TRIED = 5;
/** With this many functions each is tried in every third spelling, and all together in every one. */
const MANY = 6;

const otherSpellings: Attack = {
  name: "other spellings",
  async run(stage, role, attack) {
    const { permitted, hidden } = stage.targets(role);
    const known = new Set(stage.service.manifest.functions.map(({ name }) => name));
    for (const { context, targets } of byContext([...hidden, ...permitted.slice(0, PERMITTED_TRIED)])) {
      const chosen = (i: number, j: number) => targets.length < MANY || (i + j) % 3 === 0;
      const attempts = targets.flatMap(({ functionName, input }, i) =>
        spellingsOf(functionName).flatMap((name, j) => (known.has(name) || !chosen(i, j) ? [] : [{ name, input }])),
      );
      await stage.ask({ attack, role, context, attempts });
    }
    const inherited = INHERITED_NAMES.filter((name) => !known.has(name)).map((name) => ({ name, input: {} }));
    await stage.ask({ attack, role, attempts: inherited });
  },
};

export const nameAttacks: Attack[] = [permittedCalls, handlerErrors, byName, otherSpellings];
