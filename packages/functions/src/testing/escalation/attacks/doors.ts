import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "@patchbay/protocol";
import type { Door } from "../../test-client.ts";
import { type Fixture, UNLISTED_ROLE } from "../fixture.ts";
import type { Risk } from "../report.ts";
import type { Target, TriedRole } from "../targets.ts";
import { attemptOf, contextHeader, forDoor, higherRoles, unpinnedWithout, type Attack, withClaims } from "./attack.ts";

/** What a client of a door makes up. */
interface Claims {
  /** Claimed wherever a request has room for a role. */
  claimed: string;
  /** Take the place of the request's own headers. */
  headers?: Record<string, string>;
}

/** A door that takes whole queries, with claims in its requests. */
export type DoorOf = (fixture: Fixture, claims: Claims) => Door;

/** A text that no model may be shown: a client made it up. */
export const FORGED = "This was made up by a page.";

export const roleHeader = (role: string): Record<string, string> => ({ "X-Patchbay-Role": role });

/** A role with more rights, or a role that does not exist. */
export const claimedBy = (fixture: Fixture, role: TriedRole): string =>
  higherRoles(fixture, role)[0]?.stated ?? role.stated ?? "admin";

/** Every call that is tried as the role and whose context fits into a header, by context. */
export function callsOf(fixture: Fixture, role: TriedRole): { context: JsonObject; targets: Target[] }[] {
  const { permitted, hidden, refused } = fixture.targets(role);
  return forDoor([...permitted, ...hidden, ...refused]);
}

/** Every kind of call through a door, with claims of another role wherever a request has room for them. */
export const everyCall = (name: string, risks: readonly Risk[], doorOf: DoorOf): Attack => ({
  name,
  risks,
  async run(fixture, role, attack) {
    const claimed = claimedBy(fixture, role);
    const unpinned = unpinnedWithout(role);
    // The header has a claim that a pinned key contradicts.
    const door = doorOf(fixture, { claimed, headers: unpinned ? {} : roleHeader(claimed) });
    for (const { context, targets } of callsOf(fixture, role)) {
      const attempts = targets.map(attemptOf);
      const asked = await fixture.ask({ attack, role, context, ownContext: context, attempts, door, ...unpinned });
      if (JSON.stringify(asked?.requests)?.includes(FORGED))
        fixture.report({ attack, role }, "believed", "the model was shown a message that the page made up");
    }
  },
});

/** A page with a client token for one context. */
export interface Page {
  context: JsonObject;
  targets: Target[];
  /** Its token, and claims of another role and of the context of other calls. */
  headers: Record<string, string>;
}

/** A page for each context of the calls of the role. None without a role, because every token has one. */
export async function pagesOf(fixture: Fixture, role: TriedRole): Promise<Page[]> {
  const { effective } = role;
  if (effective === undefined) return [];
  const claimed = claimedBy(fixture, role);
  const key = await fixture.keyFor(effective);
  const groups = callsOf(fixture, role);
  const pages: Page[] = [];
  for (const { context, targets } of groups) {
    const body = { role: effective, context, expiresInSeconds: 600 };
    const made = await fixture.server.client.request("/client-tokens", { key, body });
    const { token } = (await made.json()) as { token: string };
    const other = groups.find((group) => !isDeepStrictEqual(group.context, context))?.context ?? context;
    const headers = {
      Authorization: `Bearer ${token}`,
      ...roleHeader(claimed),
      ...contextHeader(withClaims(other, claimed)),
    };
    pages.push({ context, targets, headers });
  }
  return pages;
}

/** Pages with client tokens state another role, and make the calls of other contexts. */
export const callsOfPages =
  (doorOf: DoorOf): Attack["run"] =>
  async (fixture, role, attack) => {
    const claimed = claimedBy(fixture, role);
    const attempts = callsOf(fixture, role).flatMap(({ targets }) => targets.map(attemptOf));
    for (const { context, headers } of await pagesOf(fixture, role)) {
      const door = doorOf(fixture, { claimed, headers });
      await fixture.ask({ attack, role, context, ownContext: context, attempts, door });
    }
  };

/** A key for this role and an unknown one states every other role, also by tokens of a caller that no provider signed. */
export const otherRoles = (name: string, doorOf: DoorOf): Attack => ({
  name,
  risks: ["ASI03"],
  async run(fixture, role, attack) {
    const { stated } = role;
    if (stated === undefined) return;
    const { plane, client, agentId } = fixture.server;
    const claimed = claimedBy(fixture, role);
    const { apiKey: key } = await plane.admin.createKey({ agentId, roles: [stated, UNLISTED_ROLE] });
    const attempt = async (what: string, headers: Record<string, string>) => {
      const door = doorOf(fixture, { claimed, headers });
      const sent = door.request({ query: "Let me in.", sessionId: "other roles" }, agentId);
      const response = await client.request(door.path, { key, ...sent });
      await response.body?.cancel();
      fixture.count({ attack, role }, 1);
      if (response.status < 400 || response.status >= 500)
        fixture.report({ attack, role }, "accepted", `a key for ${stated} got ${response.status} ${what}`);
    };
    for (const alg of ["none", "HS256"])
      await attempt(`with a token of its caller by ${alg}`, {
        ...roleHeader(stated),
        "X-Patchbay-Caller": madeUpToken(alg, claimed),
      });
    for (const { stated: other } of fixture.roles)
      if (other !== undefined && other !== stated) await attempt(`as ${other}`, roleHeader(other));
  },
});

function madeUpToken(alg: string, role: string): string {
  const part = (value: JsonObject) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { sub: "caller", role, exp: Math.floor(Date.now() / 1000) + 600 };
  return `${part({ alg, typ: "JWT" })}.${part(claims)}.${alg === "none" ? "" : part({ alg })}`;
}
