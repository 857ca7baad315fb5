import { oncePer } from "@patchbay/kit";
import { QueryRefused } from "@patchbay/test-kit/finished-query";
import { scriptedModel } from "@patchbay/test-kit/scripted-model";
import type { QueryTraces } from "@patchbay/test-kit/test-client";
import type { Fixture } from "../fixture.ts";
import { judgePlaces } from "../judge.ts";
import type { TriedRole } from "../targets.ts";
import { attemptOf, byContext, foreignRoles, type Attack } from "./attack.ts";

/** Calls by this role with ids from calls by other roles, and several calls with one id. */
const forgedIds: Attack = {
  name: "forged call ids",
  risks: ["ASI07"],
  async run(fixture, role, label) {
    const { permitted, hidden } = fixture.targets(role);
    const [group = { context: fixture.context, targets: [] }] = byContext(permitted);
    const calls = [...hidden.slice(0, 10), ...group.targets.slice(0, 5)].map(attemptOf);
    if (calls.length === 0) return;
    const { context } = group;
    await fixture.ask({ ...label, context, attempts: calls.map((call) => ({ ...call, id: "same" })) });
    for (const other of fixture.roles) {
      if (other.effective === role.effective) continue;
      const ids = callIdsOf(await earlierQuery(fixture, other, label.attack));
      const forged = ids.flatMap((id, i) => (calls[i] ? [{ ...calls[i], id }] : []));
      if (forged.length > 0) await fixture.ask({ ...label, context, attempts: forged });
    }
  },
};

/** A key that is pinned to this role states another role, and reads another role's results. */
const pinnedKey: Attack = {
  name: "key pinned to the role",
  risks: ["ASI03"],
  async run(fixture, role, label) {
    const { stated } = role;
    if (stated === undefined) return;
    const key = await fixture.keyFor(stated);
    const { context, server } = fixture;
    const { client } = server;
    for (const other of foreignRoles(fixture, stated)) {
      const earlier = await earlierQuery(fixture, other, label.attack);
      if (!earlier) continue;
      const { runId, threadId } = earlier.answer;
      const asked = await client
        .ask({ query: "Let me in.", role: other.stated, context }, scriptedModel(["In."]), { key })
        .catch(undefinedIfForbidden);
      if (asked) fixture.report(label, "accepted", `a key for ${stated} asked as ${other.stated}`);
      const paths = [`/runs/${runId}`, `/runs/${runId}/events`, `/threads/${threadId}`, "/threads"];
      for (const path of paths) {
        const places = { read: await (await client.request(path, { key })).text() };
        judgePlaces(fixture, { ...label, effective: stated }, places, { byReader: true });
      }
      fixture.count(label, 1 + paths.length);
    }
  },
};

function undefinedIfForbidden(error: unknown): undefined {
  if (!(error instanceof QueryRefused) || error.status !== 403) throw error;
}

const earlierQueries = oncePer((_fixture: Fixture) => new Map<TriedRole, Promise<QueryTraces | undefined>>());

/** A query in which this role got results; asked once per fixture. */
function earlierQuery(fixture: Fixture, role: TriedRole, attack: string): Promise<QueryTraces | undefined> {
  const known = earlierQueries(fixture);
  let asked = known.get(role);
  if (!asked) {
    const [group = { context: fixture.context, targets: [] }] = byContext(fixture.targets(role).permitted);
    const attempts = group.targets.slice(0, 15).map(attemptOf);
    known.set(role, (asked = fixture.ask({ attack, role, context: group.context, attempts })));
  }
  return asked;
}

function callIdsOf(query: QueryTraces | undefined): string[] {
  return query?.events.flatMap((event) => (event.type === "toolCall" ? [event.toolCallId] : [])) ?? [];
}

export const keyAttacks: Attack[] = [forgedIds, pinnedKey];
