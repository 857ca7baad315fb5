import { type AccessLock, accessSurface, compareAccess, readLock } from "@patchbay/protocol";
import type { AccessComparison } from "@patchbay/protocol/console";
import { ServiceError } from "../../ports/service-error.ts";
import { promptParts, shownFunctions, visibleFunctions } from "../../run/api.ts";
import type { StoredFunctionSet } from "../functions/queries.ts";
import { functionSetOf } from "../functions/routes.ts";
import type { ConsoleDeps, HandlersOf } from "../handler.ts";

/** Changes that are listed: two unrelated function sets may differ in thousands of places. */
const MOST_CHANGES = 500;

type ViewRoutes =
  | "GET /agents/:agent_id/access/changes"
  | "GET /agents/:agent_id/access/locks"
  | "GET /agents/:agent_id/access/model-view"
  | "POST /agents/:agent_id/access/lock-changes";

/** Function sets as the model of a role receives them, and compared with earlier sets and locks. */
export function accessViewRoutes({
  queries,
  gateway,
}: Pick<ConsoleDeps, "queries" | "gateway">): HandlersOf<ViewRoutes> {
  return {
    async "GET /agents/:agent_id/access/model-view"({ agent, query: { manifestHash: asked, role } }) {
      const { manifestHash, manifest } = await functionSetOf({ queries, gateway }, agent, asked);
      const visible = visibleFunctions(manifest, role);
      const functions = shownFunctions(visible);
      const tokens = promptParts({ system: "", functions, messages: [] }).functions;
      return {
        manifestHash,
        functions: functions.map(({ name, description, inputSchema }, at) => ({
          name,
          description,
          inputSchema,
          tokens: tokens[at]!,
        })),
        deprecated: visible.flatMap(({ name, deprecated }) => (deprecated === undefined ? [] : [name])),
        hidden: manifest.functions.length - visible.length,
      };
    },

    async "GET /agents/:agent_id/access/changes"({ agent, query }) {
      const { orgId, agentId } = agent;
      const set = await functionSetOf({ queries, gateway }, agent, query.manifestHash);
      const base =
        query.base === undefined
          ? await queries.functions.setBefore(orgId, agentId, set)
          : await functionSetOf({ queries, gateway }, agent, query.base);
      if (!base) return { manifestHash: set.manifestHash, base: null, changes: [], omitted: 0 };
      return { ...compared(set, accessSurface(base.manifest)), base: base.manifestHash };
    },

    async "GET /agents/:agent_id/access/locks"({ agent: { orgId, agentId }, query }) {
      const { manifest, manifestHash } = await functionSetOf(
        { queries, gateway },
        { orgId, agentId },
        query.manifestHash,
      );
      // A combined set is stored without locks: those of its services' own sets are compared.
      const own = new Set(manifest.functions.map(({ origin }) => origin?.manifestHash ?? manifestHash));
      const locked = await queries.access.locks(orgId, agentId, [...own]);
      return {
        locks: locked.map(({ lock, since, ...set }) => {
          const read = readLock(lock);
          const isRead = "lock" in read;
          return {
            service: set.manifest.name,
            since,
            comparison: isRead ? { ...compared(set, read.lock), base: null } : null,
            fault: isRead ? null : read.fault,
          };
        }),
      };
    },

    async "POST /agents/:agent_id/access/lock-changes"({ agent, body }) {
      const set = await functionSetOf({ queries, gateway }, agent, body.manifestHash);
      const read = readLock(body.lock);
      if ("lock" in read) return { ...compared(set, read.lock), base: null };
      throw new ServiceError(
        "invalid_request",
        `This file is not an access lock: ${read.fault}. Choose the file that \`patchbay access FILE --write\` saved${isNewer(body.lock) ? ", or update Patchbay" : ""}.`,
      );
    },
  };
}

/** True for a lock that a later version of the CLI may have written. */
const isNewer = ({ version }: Record<string, unknown>): boolean => typeof version === "number" && version > 2;

/** What the set allows more or less than the state before it. */
function compared(
  { manifestHash, manifest }: Pick<StoredFunctionSet, "manifestHash" | "manifest">,
  before: AccessLock,
): Pick<AccessComparison, "manifestHash" | "changes" | "omitted"> {
  const changes = compareAccess(before, accessSurface(manifest)).map(({ kind, functionName, sentence }) => ({
    kind,
    functionName: functionName ?? null,
    sentence: `${sentence}.`,
  }));
  const listed = changes.slice(0, MOST_CHANGES);
  return { manifestHash, changes: listed, omitted: changes.length - listed.length };
}
