import { AccessLock, accessSurface, compareAccess } from "@patchbay/protocol";
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

    async "POST /agents/:agent_id/access/lock-changes"({ agent, body }) {
      const set = await functionSetOf({ queries, gateway }, agent, body.manifestHash);
      const lock = AccessLock.safeParse(body.lock);
      if (lock.success) return { ...compared(set, lock.data), base: null };
      const { path, message } = lock.error.issues[0]!;
      const reason = path.length === 0 ? message : `${path.join(".")}: ${message}`;
      throw new ServiceError(
        "invalid_request",
        `This is not an access lock: ${reason}. Choose the file that patchbay access FILE --write saved.`,
      );
    },
  };
}

/** What the set allows more or less than the state before it. */
function compared(
  { manifestHash, manifest }: StoredFunctionSet,
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
