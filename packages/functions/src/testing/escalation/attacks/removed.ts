import type { Desk } from "../../desk.ts";
import { scriptedModel } from "../../scripted-model.ts";
import type { Stage } from "../stage.ts";
import { attemptOf, byContext, type Attack } from "./attack.ts";

/** Calls of functions that were there until a moment ago, by roles that might call them then. */
export const removedFunctions: Attack = {
  name: "removed functions",
  async run(stage, role, attack) {
    const { desk, removed } = await afterRemoval(stage);
    const gone = stage.targets(role).permitted.filter(({ functionName }) => removed.has(functionName));
    for (const { context, targets } of byContext(gone)) {
      const done = await stage.ask({ attack, role, context, desk, attempts: targets.map(attemptOf) });
      for (const { toolName, success } of done?.answer.toolInteractions ?? [])
        if (success) stage.found({ attack, role }, "ran", `${toolName} ran after it was removed`);
    }
  },
};

interface Removal {
  desk: Desk;
  removed: ReadonlySet<string>;
}

const removals = new WeakMap<Stage, Promise<Removal>>();

function afterRemoval(stage: Stage): Promise<Removal> {
  let removal = removals.get(stage);
  if (!removal) removals.set(stage, (removal = remove(stage)));
  return removal;
}

/** A desk whose runtime serves fewer functions than a moment ago: of each role, one that it might call is gone. */
async function remove(stage: Stage): Promise<Removal> {
  const { served } = stage;
  const removed = new Set(
    stage.roles.flatMap((role) =>
      stage
        .targets(role)
        .permitted.slice(0, 1)
        .map((one) => one.functionName),
    ),
  );
  const functions = served.manifest.functions.filter(({ name }) => !removed.has(name));
  const desk = await stage.openDesk();
  desk.connection.update({ ...served, manifest: { ...served.manifest, functions } });
  await untilServed(stage, desk, removed);
  return { desk, removed };
}

const TRIES = 200;

/** Asks until a new query is given the new set. */
async function untilServed(stage: Stage, desk: Desk, removed: ReadonlySet<string>): Promise<void> {
  const { stated } = stage.roles.find((role) => stage.targets(role).permitted.length > 0) ?? {};
  for (let i = 0; i < TRIES; i++) {
    const query = { query: "What is there?", context: stage.context, ...(stated !== undefined && { role: stated }) };
    const { visibleFunctions } = await desk.client.query(query, scriptedModel(["Nothing."]));
    if (!visibleFunctions.some((name) => removed.has(name))) return;
  }
  throw new Error("The control plane went on with functions that were removed.");
}
