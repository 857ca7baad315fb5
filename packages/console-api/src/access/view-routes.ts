import { accessComparison } from "@patchbay/access";
import { type AccessLock, type Manifest, readLock } from "@patchbay/protocol";
import type { AccessComparison } from "@patchbay/protocol/console";
import { compareInTurn } from "@patchbay/engine/ports/store/comparisons";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import { promptParts, shownFunctions, visibleFunctions } from "@patchbay/engine/run/api";
import { ownSets } from "@patchbay/server/accounts/admin-review";
import type { StoredFunctionSet } from "../functions/queries.ts";
import { functionSetOf } from "../functions/routes.ts";
import type { ConsoleDeps, Handlers } from "../handler.ts";
import { approvalOf } from "./routes.ts";

/** Listed changes: two unrelated function sets may differ in thousands of places. */
const MOST_CHANGES = 500;

/** Function sets as a role's model receives them, and compared with earlier sets and locks. */
export function accessViewRoutes({ queries, gateway }: Pick<ConsoleDeps, "queries" | "gateway">) {
  return {
    async "GET /agents/:agent_id/access/model-view"({ agent, query: { manifestHash: asked, role } }) {
      const { manifestHash, manifest } = await functionSetOf({ queries, gateway }, agent, asked);
      const visible = visibleFunctions(manifest, role);
      const functions = shownFunctions(visible);
      const tokens = promptParts({ system: "", functions, messages: [] }).functions;
      const approvals = new Map(visible.map((fn) => [fn.name, approvalOf(fn)]));
      return {
        manifestHash,
        functions: functions.map(({ name, description, inputSchema }, at) => ({
          name,
          description,
          inputSchema,
          ...approvals.get(name),
          tokens: tokens[at]!,
        })),
        deprecated: visible.flatMap(({ name, deprecated }) => (deprecated === undefined ? [] : [name])),
        hidden: manifest.functions.length - visible.length,
      };
    },

    async "GET /agents/:agent_id/access/changes"({ agent, query }) {
      const { agentId } = agent;
      const set = await functionSetOf({ queries, gateway }, agent, query.manifestHash);
      const base =
        query.base === undefined
          ? await queries.functions.setBefore(agent, set)
          : await functionSetOf({ queries, gateway }, agent, query.base);
      if (!base) return { manifestHash: set.manifestHash, base: null, changes: [], omitted: 0 };
      return { ...(await compared(agentId, set, base.manifest)), base: base.manifestHash };
    },

    async "GET /agents/:agent_id/access/locks"({ agent, query }) {
      const { agentId } = agent;
      // A combined set is stored without locks: the locks of each service's own set are compared.
      const own = ownSets(await functionSetOf({ queries, gateway }, agent, query.manifestHash));
      const locked = await queries.access.locks(
        agent,
        own.map(({ manifestHash }) => manifestHash),
      );
      const locks = locked.map(async ({ lock, since, ...set }) => {
        const read = await compareInTurn(agentId, lockIn(lock));
        const comparison = "lock" in read ? { ...(await compared(agentId, set, read.lock)), base: null } : null;
        return { service: set.manifest.name, since, comparison, fault: "lock" in read ? null : read.fault };
      });
      return { locks: await Promise.all(locks) };
    },

    async "POST /agents/:agent_id/access/lock-changes"({ agent, body }) {
      const set = await functionSetOf({ queries, gateway }, agent, body.manifestHash);
      const read = await compareInTurn(agent.agentId, lockIn(body.lock));
      if ("lock" in read) return { ...(await compared(agent.agentId, set, read.lock)), base: null };
      throw new ServiceError(
        "invalid_request",
        `This file is not an access lock: ${read.fault}. Choose the file that \`patchbay access FILE --write\` saved${isNewer(body.lock) ? ", or update Patchbay" : ""}.`,
      );
    },
  } satisfies Handlers;
}

/** A lock file's content, read without pauses. */
function* lockIn(json: unknown): Generator<undefined, ReturnType<typeof readLock>> {
  yield;
  return readLock(json);
}

/** True for a lock that a later CLI version may have written. */
const isNewer = ({ version }: Record<string, unknown>): boolean => typeof version === "number" && version > 2;

/** What the set allows more or less than its previous state. */
async function compared(
  agentId: string,
  { manifestHash, manifest }: Pick<StoredFunctionSet, "manifestHash" | "manifest">,
  before: AccessLock | Manifest,
): Promise<Pick<AccessComparison, "manifestHash" | "changes" | "omitted">> {
  const found = await compareInTurn(agentId, accessComparison(before, manifest));
  const changes = found.map(({ kind, functionName, sentence }) => ({
    kind,
    functionName: functionName ?? null,
    sentence: `${sentence}.`,
  }));
  const listed = changes.slice(0, MOST_CHANGES);
  return { manifestHash, changes: listed, omitted: changes.length - listed.length };
}
