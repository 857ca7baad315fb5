import { type ConsoleDeps, type HandlersOf, paged } from "../handler.ts";

export function auditRoutes({ queries }: Pick<ConsoleDeps, "queries">): HandlersOf<"GET /audit"> {
  return {
    "GET /audit"({ by, query }) {
      const { limit, from, to, ...wanted } = paged(query);
      return queries.audit.list(by.orgId, {
        limit,
        ...given(wanted),
        ...(from !== undefined && { since: Date.parse(from) }),
        ...(to !== undefined && { until: Date.parse(to) }),
      });
    },
  };
}

function given<T extends Record<string, string | undefined>>(values: T): { [K in keyof T]?: string } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]?: string };
}
