import { CancelledError, type QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { ApiError } from "./api/api-error.ts";
import { queryClient } from "./api/api.ts";
import { resource, sessionQuery } from "./api/queries.ts";
import { FailedPage } from "./pages/faults/failed-page.tsx";
import { NotFoundPage } from "./pages/faults/not-found-page.tsx";
import { pageCode } from "./page-code.ts";
import * as search from "./page-search.ts";
import { parseSearch, searchOf, stringifySearch, text } from "./search.ts";
import { PageSkeleton } from "./shell/page-skeleton.tsx";
import { Shell } from "./shell/shell.tsx";

const root = createRootRouteWithContext<{ queries: QueryClient }>()({ component: Outlet });

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: searchOf({ back: text }),
  component: lazyRouteComponent(() => pageCode(() => import("./pages/sign-in/sign-in-page.tsx")), "SignInPage"),
});

const link = createRoute({
  getParentRoute: () => root,
  path: "/link",
  component: lazyRouteComponent(() => pageCode(() => import("./pages/sign-in/link-page.tsx")), "LinkPage"),
});

/** Everything that asks for a session. */
const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  component: Shell,
  // Stands alone: what would be around it is what failed.
  errorComponent: (props) => (
    <main className="p-6">
      <FailedPage {...props} />
    </main>
  ),
  beforeLoad: async ({ context, location }) => {
    try {
      await context.queries.ensureQueryData(sessionQuery());
    } catch (error) {
      if (error instanceof ApiError && error.status === 401)
        throw redirect({ to: "/sign-in", search: location.pathname === "/" ? {} : { back: location.href } });
      throw error;
    }
  },
});

const home = createRoute({
  getParentRoute: () => shell,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/agents" });
  },
});

const agents = createRoute({
  getParentRoute: () => shell,
  path: "/agents",
  validateSearch: search.agents,
  component: lazyRouteComponent(() => pageCode(() => import("./pages/agents/agents-page.tsx")), "AgentsPage"),
});

const agent = createRoute({
  getParentRoute: () => shell,
  path: "/agents/$agentId",
  loader: async ({ context: { queries }, params }) => {
    const agentQuery = resource("/agents/:agent_id", { params: { agent_id: params.agentId } });
    // The header asks for the same: where it goes away, it takes the request that both wait for with it.
    const ensure = () => queries.ensureQueryData(agentQuery);
    await ensure().catch((error: unknown) => (error instanceof CancelledError ? ensure() : Promise.reject(error)));
  },
});

const overview = createRoute({
  getParentRoute: () => agent,
  path: "/",
  component: lazyRouteComponent(() => pageCode(() => import("./pages/agents/overview-page.tsx")), "OverviewPage"),
});

const agentAnalytics = createRoute({
  getParentRoute: () => agent,
  path: "/analytics",
  validateSearch: search.analytics,
  component: lazyRouteComponent(
    () => pageCode(() => import("./pages/analytics/agent-analytics-page.tsx")),
    "AgentAnalyticsPage",
  ),
});

const playground = createRoute({
  getParentRoute: () => agent,
  path: "/playground",
  validateSearch: search.playground,
  component: lazyRouteComponent(
    () => pageCode(() => import("./pages/playground/playground-page.tsx")),
    "PlaygroundPage",
  ),
});

const runs = createRoute({
  getParentRoute: () => agent,
  path: "/runs",
  validateSearch: search.runs,
  component: lazyRouteComponent(() => pageCode(() => import("./pages/runs/runs-page.tsx")), "RunsPage"),
});

const run = createRoute({
  getParentRoute: () => agent,
  path: "/runs/$runId",
  validateSearch: search.run,
  component: lazyRouteComponent(() => pageCode(() => import("./pages/runs/run-page.tsx")), "RunPage"),
});

const threads = createRoute({
  getParentRoute: () => agent,
  path: "/threads",
  validateSearch: search.threads,
  component: lazyRouteComponent(() => pageCode(() => import("./pages/threads/threads-page.tsx")), "ThreadsPage"),
});

const thread = createRoute({
  getParentRoute: () => agent,
  path: "/threads/$threadId",
  component: lazyRouteComponent(() => pageCode(() => import("./pages/threads/thread-page.tsx")), "ThreadPage"),
});

const sessions = createRoute({
  getParentRoute: () => agent,
  path: "/sessions",
  validateSearch: search.sessions,
  component: lazyRouteComponent(() => pageCode(() => import("./pages/sessions/sessions-page.tsx")), "SessionsPage"),
});

const functions = createRoute({
  getParentRoute: () => agent,
  path: "/functions",
  validateSearch: search.functions,
  component: lazyRouteComponent(() => pageCode(() => import("./pages/functions/functions-page.tsx")), "FunctionsPage"),
});

const oneFunction = createRoute({
  getParentRoute: () => agent,
  path: "/functions/$functionName",
  validateSearch: search.oneFunction,
  component: lazyRouteComponent(() => pageCode(() => import("./pages/functions/function-page.tsx")), "FunctionPage"),
});

const access = createRoute({
  getParentRoute: () => agent,
  path: "/access",
  validateSearch: search.access,
  component: lazyRouteComponent(() => pageCode(() => import("./pages/access/access-page.tsx")), "AccessPage"),
});

const keys = createRoute({
  getParentRoute: () => agent,
  path: "/keys",
  validateSearch: search.keys,
  component: lazyRouteComponent(() => pageCode(() => import("./pages/keys/keys-page.tsx")), "KeysPage"),
});

const runtimes = createRoute({
  getParentRoute: () => agent,
  path: "/runtimes",
  component: lazyRouteComponent(() => pageCode(() => import("./pages/runtimes/runtimes-page.tsx")), "RuntimesPage"),
});

const agentSettings = createRoute({
  getParentRoute: () => agent,
  path: "/settings",
  component: lazyRouteComponent(
    () => pageCode(() => import("./pages/agents/agent-settings-page.tsx")),
    "AgentSettingsPage",
  ),
});

const analytics = createRoute({
  getParentRoute: () => shell,
  path: "/analytics",
  validateSearch: search.analytics,
  component: lazyRouteComponent(() => pageCode(() => import("./pages/analytics/analytics-page.tsx")), "AnalyticsPage"),
});

const audit = createRoute({
  getParentRoute: () => shell,
  path: "/audit",
  validateSearch: search.audit,
  component: lazyRouteComponent(() => pageCode(() => import("./pages/audit/audit-page.tsx")), "AuditPage"),
});

const credits = createRoute({
  getParentRoute: () => shell,
  path: "/credits",
  validateSearch: search.credits,
  component: lazyRouteComponent(() => pageCode(() => import("./pages/credits/credits-page.tsx")), "CreditsPage"),
});

const members = createRoute({
  getParentRoute: () => shell,
  path: "/members",
  validateSearch: search.members,
  component: lazyRouteComponent(() => pageCode(() => import("./pages/members/members-page.tsx")), "MembersPage"),
});

const settings = createRoute({
  getParentRoute: () => shell,
  path: "/settings",
  component: lazyRouteComponent(() => pageCode(() => import("./pages/organisation/settings-page.tsx")), "SettingsPage"),
});

const account = createRoute({
  getParentRoute: () => shell,
  path: "/account",
  component: lazyRouteComponent(() => pageCode(() => import("./pages/account/account-page.tsx")), "AccountPage"),
});

const routeTree = root.addChildren([
  signIn,
  link,
  shell.addChildren([
    home,
    agents,
    agent.addChildren([
      overview,
      agentAnalytics,
      playground,
      runs,
      run,
      threads,
      thread,
      sessions,
      functions,
      oneFunction,
      access,
      keys,
      runtimes,
      agentSettings,
    ]),
    analytics,
    audit,
    credits,
    members,
    settings,
    account,
  ]),
]);

export const router = createRouter({
  routeTree,
  basepath: "/console",
  context: { queries: queryClient },
  parseSearch,
  stringifySearch,
  // Queries are kept by the query client; the router only starts them.
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
  // Another agent or run is another page: its state and focus begin anew.
  defaultRemountDeps: ({ params }) => params,
  defaultPendingMs: 150,
  defaultPendingComponent: PageSkeleton,
  defaultErrorComponent: FailedPage,
  defaultNotFoundComponent: () => <NotFoundPage />,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
