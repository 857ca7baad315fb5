import type { CallFrame } from "@patchbay/protocol";
import { judgeCalls, judgePlaces } from "../judge.ts";
import { startPlayedPlane } from "../played-plane.ts";
import { INHERITED_NAMES, spellingsOf } from "../spellings.ts";
import type { Scene, Stage } from "../stage.ts";
import type { Target } from "../targets.ts";
import { higherRoles, type Attack } from "./attack.ts";
import { withClaims } from "./claims.ts";

/** What a hostile control plane sends: the runtime alone stands in the way. */
const frames: Attack = {
  name: "frames at the runtime",
  async run(stage, role, attack) {
    await using plane = await startPlayedPlane(stage.served);
    const scene = stage.openScene({ attack, role });
    const { permitted, hidden, refused } = stage.targets(role);
    const higher = higherRoles(stage, role).map(({ stated }) => stated!);
    const forbidden = [...hidden, ...refused];
    const names = new Map([...forbidden, ...permitted].map((target) => [target.functionName, target]));
    const calls: Target[] = [
      ...permitted,
      ...forbidden,
      ...forbidden.flatMap((target) => claimed(target, higher)),
      ...[...names.values()].flatMap((target) => spelled(stage, target)),
      ...INHERITED_NAMES.map((functionName) => ({ functionName, input: {}, context: stage.context })),
    ];
    const results = await Promise.all(
      calls.map((call, i) => plane.call(frameOf(scene, call, `${scene.sessionId}-${i}`))),
    );
    stage.count(scene, calls.length);
    await judgeCalls(stage, scene, { behindPlane: false });
    judgePlaces(stage, scene, { results });
  },
};

/** A call that was made for one role, sent again for another: before its result was stored, and after. */
const redelivery: Attack = {
  name: "redelivery under the role",
  async run(stage, role, attack) {
    await using plane = await startPlayedPlane(stage.served);
    const scene = stage.openScene({ attack, role });
    for (const other of stage.roles) {
      if (other.effective === role.effective) continue;
      const first = stage.openScene({ attack, role: other });
      for (const [i, call] of stage.targets(other).permitted.slice(0, 5).entries()) {
        const callId = `${first.sessionId}-${scene.sessionId}-${i}`;
        await plane.call(frameOf(first, call, callId));
        const again = frameOf(scene, call, callId);
        const before = await plane.call({ ...again, attempt: 2 });
        plane.acknowledge(callId);
        const after = await plane.call({ ...again, attempt: 3 });
        judgePlaces(stage, scene, { results: [before, after] });
        stage.count(scene, 2);
      }
    }
    await judgeCalls(stage, scene, { behindPlane: false });
  },
};

function frameOf(
  scene: Scene,
  { functionName, input, context }: Target,
  callId: string,
): Omit<CallFrame, "type" | "timeoutMs"> {
  const { sessionId, effective } = scene;
  return {
    callId,
    attempt: 1,
    function: functionName,
    arguments: input,
    context,
    threadId: "thread",
    runId: "run",
    sessionId,
    ...(effective !== undefined && { role: effective }),
  };
}

/** Two roles are enough: code that believes one claim believes any. */
function claimed(target: Target, higher: readonly string[]): Target[] {
  return higher.slice(0, 2).flatMap((role) => [
    { ...target, input: withClaims(target.input, role) },
    { ...target, context: withClaims(target.context, role) },
  ]);
}

function spelled({ service }: Stage, target: Target): Target[] {
  const known = new Set(service.manifest.functions.map(({ name }) => name));
  const names = spellingsOf(target.functionName).filter((name) => !known.has(name));
  return names.map((functionName) => ({ ...target, functionName }));
}

export const frameAttacks: Attack[] = [frames, redelivery];
