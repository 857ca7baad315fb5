import type { AskedQuery } from "../../desk-client.ts";
import { QueryRefused } from "../../finished-query.ts";
import { scriptedModel } from "../../scripted-model.ts";
import { judgePlaces } from "../judge.ts";
import type { Stage } from "../stage.ts";
import type { TriedRole } from "../targets.ts";
import { attemptOf, byContext, type Attack } from "./attack.ts";

/** Calls of this role under the ids of calls that other roles made, and several under one id. */
const forgedIds: Attack = {
  name: "forged call ids",
  async run(stage, role, attack) {
    const { permitted, hidden } = stage.targets(role);
    const [group = { context: stage.context, targets: [] }] = byContext(permitted);
    const calls = [...hidden.slice(0, 10), ...group.targets.slice(0, 5)].map(attemptOf);
    if (calls.length === 0) return;
    const { context } = group;
    await stage.ask({ attack, role, context, attempts: calls.map((call) => ({ ...call, id: "same" })) });
    for (const other of stage.roles) {
      if (other.effective === role.effective) continue;
      const ids = callIdsOf(await earlierQuery(stage, other, attack));
      const forged = ids.flatMap((id, i) => (calls[i] ? [{ ...calls[i], id }] : []));
      if (forged.length > 0) await stage.ask({ attack, role, context, attempts: forged });
    }
  },
};

/** A key that is pinned to this role: it must neither ask as another one nor read what another one got. */
const pinnedKey: Attack = {
  name: "key pinned to the role",
  async run(stage, role, attack) {
    const { stated } = role;
    if (stated === undefined) return;
    const key = await stage.keyFor(stated);
    const { context, desk } = stage;
    const { client } = desk;
    for (const other of stage.roles) {
      if (other.stated === undefined || other.stated === stated) continue;
      const earlier = await earlierQuery(stage, other, attack);
      if (!earlier) continue;
      const { runId, threadId } = earlier.answer;
      const asked = await client
        .ask({ query: "Let me in.", role: other.stated, context }, scriptedModel(["In."]), key)
        .catch(refused);
      if (asked) stage.found({ attack, role }, "accepted", `a key for ${stated} asked as ${other.stated}`);
      const paths = [`/runs/${runId}`, `/runs/${runId}/events`, `/threads/${threadId}`, "/threads"];
      for (const path of paths) {
        const places = { read: await (await client.request(path, { key })).text() };
        judgePlaces(stage, { attack, role, effective: stated }, places, { alsoWithoutRole: true });
      }
      stage.count({ attack, role }, 1 + paths.length);
    }
  },
};

function refused(error: unknown): undefined {
  if (!(error instanceof QueryRefused) || error.status !== 403) throw error;
}

const earlier = new WeakMap<Stage, Map<TriedRole, Promise<AskedQuery | undefined>>>();

/** A query in which this role got results; asked once. */
function earlierQuery(stage: Stage, role: TriedRole, attack: string): Promise<AskedQuery | undefined> {
  let known = earlier.get(stage);
  if (!known) earlier.set(stage, (known = new Map()));
  let asked = known.get(role);
  if (!asked) {
    const [group = { context: stage.context, targets: [] }] = byContext(stage.targets(role).permitted);
    const attempts = group.targets.slice(0, 15).map(attemptOf);
    known.set(role, (asked = stage.ask({ attack, role, context: group.context, attempts })));
  }
  return asked;
}

function callIdsOf(query: AskedQuery | undefined): string[] {
  return query?.events.flatMap((event) => (event.type === "toolCall" ? [event.toolCallId] : [])) ?? [];
}

export const keyAttacks: Attack[] = [forgedIds, pinnedKey];
