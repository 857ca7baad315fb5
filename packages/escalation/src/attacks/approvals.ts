import { type ApprovalRule, approvalIdOf, CALLER } from "@patchbay/protocol";
import { isJsonObject, type JsonObject } from "@patchbay/kit";
import { argumentsHash } from "@patchbay/protocol/arguments-hash";
import type { Service } from "@patchbay/runtime/service";
import { type Fixture, UNLISTED_ROLE } from "../fixture.ts";
import { judgeCalls } from "../judge.ts";
import type { Target, TriedRole } from "../targets.ts";
import { attemptOf, type Attack } from "./attack.ts";
import { frameOf, type SentCall, startHostilePlane } from "./frames.ts";

/** Calls that are tried for each role. */
const CALLS = 3;
const EXTRA = { "patchbay-extra": true };

const asks = ({ manifest }: Service) => manifest.functions.some(({ approval }) => approval !== undefined);
export const ruleOf = ({ service }: Fixture, { functionName }: Target) =>
  service.manifest.functions.find(({ name }) => name === functionName)!.approval!;

/** A role that may approve a call that `role` made. */
export const deciderOf = (by: readonly string[], role: TriedRole): string =>
  by.find((name) => name !== CALLER) ?? role.effective ?? UNLISTED_ROLE;

/** The role's permitted calls that need an approval. */
export async function askingCalls(fixture: Fixture, role: TriedRole): Promise<Target[]> {
  const found: Target[] = [];
  for (const target of fixture.targets(role).permitted)
    if (isJsonObject(target.input) && (await fixture.rules.needsApproval(target, role.effective))) found.push(target);
  return found.slice(0, CALLS);
}

/** Decisions from a lying control plane, each different from a valid one in one place. */
const forgedApprovals: Attack = {
  name: "forged approvals",
  risks: ["ASI03", "ASI09"],
  applies: asks,
  async run(fixture, role, label) {
    await using plane = await startHostilePlane(fixture.served);
    const attackCase = fixture.openCase(label);
    for (const [i, target] of (await askingCalls(fixture, role)).entries())
      for (const [lie, forged] of liesAbout(ruleOf(fixture, target), target, role)) {
        const frame = frameOf(attackCase, target, `call_${attackCase.sessionId}-${i}-${lie.replaceAll(" ", "-")}`);
        if (forged.attempt !== 1) await plane.call(frame);
        plane.acknowledge(frame.callId);
        const ranBefore = attackCase.runs.length;
        await plane.call({ ...frame, ...forged, approval: { ...forged.approval!, ...idOf(forged, frame) } });
        fixture.count(attackCase, 1);
        if (attackCase.runs.length > ranBefore)
          fixture.report(label, "ran", `${target.functionName} ran with an approval ${lie}`);
      }
    await judgeCalls(fixture, attackCase, { behindControlPlane: false });
  },
};

/** The id for the call's own approval, unless the lie concerns it. */
const idOf = ({ approval }: Partial<SentCall>, { callId }: SentCall) =>
  approval!.approvalId === "" ? { approvalId: approvalIdOf(callId) } : {};

function liesAbout(
  { by, fourEyes }: ApprovalRule,
  { input }: Target,
  { effective }: TriedRole,
): [lie: string, forged: Partial<SentCall>][] {
  const given = input as JsonObject;
  const other = { ...given, ...EXTRA };
  const granted = {
    approvalId: "",
    argumentsHash: argumentsHash(given),
    decidedAs: by.find((role) => role !== CALLER) ?? effective ?? UNLISTED_ROLE,
    decidedBy: "key_approver",
    requestedBy: "key_sender",
    decidedAt: new Date().toISOString(),
  };
  const lie = (change: object, frame: Partial<SentCall> = {}): Partial<SentCall> => ({
    attempt: 2,
    ...frame,
    approval: { ...granted, ...change },
  });
  return [
    ["of a role that may not decide", lie({ decidedAs: UNLISTED_ROLE })],
    ["of another call", lie({ approvalId: "apr_other" })],
    ["for other arguments", lie({}, { arguments: other })],
    ["for other arguments with their hash", lie({ argumentsHash: argumentsHash(other) }, { arguments: other })],
    ["with a false hash", lie({ argumentsHash: argumentsHash(other) })],
    ["that edits what may not be edited", lie({ edited: other })],
    ["on the first delivery", lie({}, { attempt: 1 })],
    ...(fourEyes
      ? [["of the sender of the query", lie({ decidedBy: "key_sender" })] as [string, Partial<SentCall>]]
      : []),
  ];
}

/** Keys without the right to decide, forbidden edits, and a second decision, at the control plane's routes. */
const strangersDecisions: Attack = {
  name: "decisions of others",
  risks: ["ASI03", "ASI09"],
  applies: asks,
  async run(fixture, role, label) {
    const { plane, client, agentId } = fixture.server;
    const [target] = await askingCalls(fixture, role);
    if (!target) return;
    const { by, edit = [] } = ruleOf(fixture, target);
    const mayDecide = (name: string) => by.includes(name) || (by.includes(CALLER) && name === role.effective);
    const keyOf = async (roles: string[]) => (await plane.admin.createKey({ agentId, roles, can: ["approve"] })).apiKey;
    const own = await fixture.keyFor(role.effective);
    const stranger = await keyOf([UNLISTED_ROLE]);
    const decider = deciderOf(by, role);
    const others = fixture.roles.flatMap(({ stated }) => (stated !== undefined && !mayDecide(stated) ? [stated] : []));
    let decided: string | undefined;
    const attempt = async (what: string, approvalId: string, key: string, body: object) => {
      const { status } = await client.request(`/approvals/${approvalId}/decision`, { key, body });
      fixture.count(label, 1);
      if (status < 400) fixture.report(label, "accepted", `${target.functionName}: ${what} decided`);
    };
    await fixture.ask({
      ...label,
      context: target.context,
      attempts: [attemptOf(target)],
      async approver({ approvalId, parameters }) {
        const approved = true;
        await attempt("a key without the right", approvalId, own, { approved, as: decider });
        await attempt("a key of another role", approvalId, stranger, { approved, as: decider });
        for (const other of others)
          await attempt(`a key of ${other}`, approvalId, await keyOf([other]), { approved, as: other });
        const everyRole = (await plane.admin.createKey({ agentId, can: ["approve"] })).apiKey;
        for (const key of [everyRole, await keyOf([CALLER])])
          await attempt("a key in the caller's place", approvalId, key, { approved, as: CALLER });
        const edited = { ...(parameters as JsonObject), ...EXTRA };
        if (!edit.includes("patchbay-extra"))
          await attempt("an edit that is not allowed", approvalId, everyRole, {
            approved,
            as: decider,
            arguments: edited,
          });
        decided = approvalId;
        return { approved };
      },
    });
    if (decided !== undefined) {
      const { apiKey: again } = await plane.admin.createKey({ agentId, can: ["approve"] });
      await attempt("a second decision", decided, again, { approved: false, as: decider });
    }
  },
};

export const approvalAttacks: Attack[] = [forgedApprovals, strangersDecisions];
