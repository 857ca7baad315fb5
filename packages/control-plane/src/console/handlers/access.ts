import { type FunctionManifest, rolesAllow } from "@patchbay/protocol";
import type { AccessMatrix } from "@patchbay/protocol/console";
import type { RoleCalls } from "../../ports/console-agents.ts";
import type { ConsoleDeps } from "../deps.ts";
import { functionSetOf, rolesOf } from "../function-set.ts";
import type { HandlersOf } from "../handler.ts";
import { agentOf } from "./agent-of.ts";

const SHOWN_MS = 30 * 86_400_000;

type Cell = AccessMatrix["functions"][number]["cells"][number];

/** Who may call what, told from the function set alone: nothing is asked of the owner's code. */
export function accessHandlers({ store }: Pick<ConsoleDeps, "store">): HandlersOf<"GET /agents/:agent_id/access"> {
  return {
    async "GET /agents/:agent_id/access"({ by, params, query }) {
      const agent = await agentOf(store, by.orgId, params.agent_id);
      const { manifestHash, manifest, connected } = await functionSetOf(store, agent, query.manifestHash);
      const now = await store.now();
      const range = { from: now - SHOWN_MS, to: now + 1 };
      const calls = talliesOf(await store.console.functions.callsByRole(by.orgId, agent.agentId, range));
      const roles = [null, ...rolesOf(manifest)];
      return {
        manifestHash,
        connected,
        roles,
        defaultRole: manifest.defaultRole ?? null,
        functions: manifest.functions.map((one) => ({
          name: one.name,
          effect: one.effect,
          protectedMembers: one.protectedMembers ?? [],
          cells: roles.map((role) => ({ ...judged(one, role), ...(calls.get(keyOf(one.name, role)) ?? NONE) })),
        })),
      };
    },
  };
}

/** What the role list decides, and why. */
function judged({ name, roles, conditional }: FunctionManifest, role: string | null): Pick<Cell, "verdict" | "why"> {
  const subject = role === null ? "a query without a role" : `role ${role}`;
  const list = roles === "everyone" ? "everyone" : roles.join(", ");
  if (!rolesAllow(roles, role ?? undefined)) {
    const why = `The role list of ${name} is ${list}: to ${subject} the function does not exist. No model is shown it, and a call of it is refused.`;
    return { verdict: "denied", why };
  }
  const listed = `The role list of ${name} (${list}) lets ${subject} call it`;
  return conditional
    ? { verdict: "conditional", why: `${listed}, and the owner's authorize decides call by call.` }
    : { verdict: "allowed", why: `${listed}, and only the schema of its arguments decides call by call.` };
}

type Tally = Pick<Cell, "calls" | "denied" | "lastAt">;

const NONE: Tally = { calls: 0, denied: 0, lastAt: null };
const keyOf = (functionName: string, role: string | null): string => JSON.stringify([functionName, role]);

function talliesOf(rows: readonly RoleCalls[]): Map<string, Tally> {
  const tallies = new Map<string, Tally>();
  for (const { functionName, role, calls, denied, lastAt } of rows) {
    const key = keyOf(functionName, role);
    const sum = tallies.get(key) ?? { ...NONE };
    const last = new Date(lastAt).toISOString();
    sum.calls += calls;
    sum.denied += denied;
    sum.lastAt = sum.lastAt !== null && sum.lastAt > last ? sum.lastAt : last;
    tallies.set(key, sum);
  }
  return tallies;
}
