import { present } from "@patchbay/kit";
import { asStranger } from "@patchbay/engine/ports/fair-queue";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import type { Actor } from "../actors.ts";
import { type ConsoleDeps, type Handlers, paged } from "../handler.ts";
import { download } from "../runs/export.ts";
import { msOf } from "../runs/filter.ts";

type AuditDeps = Pick<ConsoleDeps, "queries" | "adminOf" | "access" | "within" | "reads">;

export function auditRoutes({ queries, adminOf, ...deps }: AuditDeps) {
  return {
    "GET /audit"({ by, query }) {
      const { limit, from, to, ...wanted } = paged(query);
      return queries.audit.list(by.orgId, { limit, ...present({ ...wanted, since: msOf(from), until: msOf(to) }) });
    },

    async "GET /audit/export"({ by, query: { cursor, from, to }, exchange }) {
      const asked = present({ cursor, since: from, until: to });
      const pages = adminOf(by.actorId).exportAudit(by.orgId, asked);
      const next = () => deps.within(by.orgId, () => deps.reads.run(asStranger(by.orgId), () => pages.next()));
      // An invalid cursor needs a 400, which is too late once the response has started.
      const first = await next();
      const lines = linesOf(by, deps, { first, next });
      return download(exchange, { name: `audit-${by.orgId}.ndjson`, type: "application/x-ndjson" }, lines);
    },
  } satisfies Handlers;
}

type Page = IteratorResult<object[], undefined>;

/** One text per page, until the session or the service token ends. */
async function* linesOf(
  { access }: Actor,
  deps: Pick<AuditDeps, "access">,
  { first, next }: { first: Page; next: () => Promise<Page> },
): AsyncGenerator<string, undefined, undefined> {
  const ended = new AbortController();
  using _held = deps.access.hold(access, () =>
    ended.abort(new ServiceError("authentication_failed", "The session or service token ended during the export.")),
  );
  for (let page = first; page.done !== true; page = await next()) {
    ended.signal.throwIfAborted();
    yield page.value.map((entry) => `${JSON.stringify(entry)}\n`).join("");
  }
  return undefined;
}
