import { CancelledError, type QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { ApiError, unreachable } from "./api/api-error.ts";
import { queryClient, resource, sessionQuery } from "./api/api.ts";
import { FailedPage, NotFoundPage } from "./pages/errors/error-pages.tsx";
import * as search from "./state/page-search.ts";
import { parseSearch, searchOf, stringifySearch, text } from "./state/page-search.ts";
import { PageSkeleton } from "./ui/states.tsx";
import { Shell } from "./shell/shell.tsx";

/**
 * Loads the code of a page. Fails as `unreachable`, which the page offers to retry, when the control plane does not respond. When
 * it does respond, a newer version has replaced the file: the error passes through and the router reloads the document.
 */
export async function pageCode<Module>(
  load: () => Promise<Module>,
  ask = () => fetch(import.meta.env.BASE_URL, { cache: "no-store" }),
): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    const answer = await ask().catch(() => undefined);
    throw answer?.ok === true ? error : unreachable(error);
  }
}

/** A page whose code loads when it is first opened. */
function page<Module extends Record<string, unknown>, Name extends keyof Module & string>(
  load: () => Promise<Module>,
  name: Name,
) {
  return lazyRouteComponent(() => pageCode(load), name);
}

const root = createRootRouteWithContext<{ queries: QueryClient }>()({ component: Outlet });

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: searchOf({ back: text }),
  component: page(() => import("./pages/sign-in/sign-in-page.tsx"), "SignInPage"),
});

const link = createRoute({
  getParentRoute: () => root,
  path: "/link",
  component: page(() => import("./pages/sign-in/link-page.tsx"), "LinkPage"),
});

/** The parent of every page that requires a session. */
const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  component: Shell,
  // Shown without the shell, because loading the shell failed.
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

/** Parent and path of a page of the organisation. */
const ofShell = <Path extends string>(path: Path) => ({ getParentRoute: () => shell, path });

const home = createRoute({
  getParentRoute: () => shell,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/agents" });
  },
});

const agents = createRoute({
  ...ofShell("/agents"),
  validateSearch: search.agents,
  component: page(() => import("./pages/agents/agents-page.tsx"), "AgentsPage"),
});

const agent = createRoute({
  getParentRoute: () => shell,
  path: "/agents/$agentId",
  loader: async ({ context: { queries }, params }) => {
    const agentQuery = resource("/agents/:agent_id", { params: { agent_id: params.agentId } });
    // The header runs the same query: when it unmounts, it cancels the shared request, so start it again.
    const ensure = () => queries.ensureQueryData(agentQuery);
    await ensure().catch((error: unknown) => (error instanceof CancelledError ? ensure() : Promise.reject(error)));
  },
});

/** Parent and path of a page of an agent. */
const ofAgent = <Path extends string>(path: Path) => ({ getParentRoute: () => agent, path });

const overview = createRoute({
  ...ofAgent("/"),
  component: page(() => import("./pages/agents/overview-page.tsx"), "OverviewPage"),
});

const agentAnalytics = createRoute({
  ...ofAgent("/analytics"),
  validateSearch: search.analytics,
  component: page(() => import("./pages/analytics/analytics-page.tsx"), "AgentAnalyticsPage"),
});

const playground = createRoute({
  ...ofAgent("/playground"),
  validateSearch: search.playground,
  component: page(() => import("./pages/playground/playground-page.tsx"), "PlaygroundPage"),
});

const runs = createRoute({
  ...ofAgent("/runs"),
  validateSearch: search.runs,
  component: page(() => import("./pages/runs/runs-page.tsx"), "RunsPage"),
});

const run = createRoute({
  ...ofAgent("/runs/$runId"),
  validateSearch: search.run,
  component: page(() => import("./pages/runs/run-page.tsx"), "RunPage"),
});

const threads = createRoute({
  ...ofAgent("/threads"),
  validateSearch: search.threads,
  component: page(() => import("./pages/threads/threads-page.tsx"), "ThreadsPage"),
});

const thread = createRoute({
  ...ofAgent("/threads/$threadId"),
  component: page(() => import("./pages/threads/thread-page.tsx"), "ThreadPage"),
});

const sessions = createRoute({
  ...ofAgent("/sessions"),
  validateSearch: search.sessions,
  component: page(() => import("./pages/sessions/sessions-page.tsx"), "SessionsPage"),
});

const functions = createRoute({
  ...ofAgent("/functions"),
  validateSearch: search.functions,
  component: page(() => import("./pages/functions/functions-page.tsx"), "FunctionsPage"),
});

const oneFunction = createRoute({
  ...ofAgent("/functions/$functionName"),
  validateSearch: search.oneFunction,
  component: page(() => import("./pages/functions/function-page.tsx"), "FunctionPage"),
});

const access = createRoute({
  ...ofAgent("/access"),
  validateSearch: search.access,
  component: page(() => import("./pages/access/access-page.tsx"), "AccessPage"),
});

const keys = createRoute({
  ...ofAgent("/keys"),
  validateSearch: search.keys,
  component: page(() => import("./pages/keys/keys-page.tsx"), "KeysPage"),
});

const runtimes = createRoute({
  ...ofAgent("/runtimes"),
  component: page(() => import("./pages/runtimes/runtimes-page.tsx"), "RuntimesPage"),
});

const agentSettings = createRoute({
  ...ofAgent("/settings"),
  component: page(() => import("./pages/agents/agent-settings-page.tsx"), "AgentSettingsPage"),
});

const analytics = createRoute({
  ...ofShell("/analytics"),
  validateSearch: search.analytics,
  component: page(() => import("./pages/analytics/analytics-page.tsx"), "AnalyticsPage"),
});

const audit = createRoute({
  ...ofShell("/audit"),
  validateSearch: search.audit,
  component: page(() => import("./pages/audit/audit-page.tsx"), "AuditPage"),
});

const credits = createRoute({
  ...ofShell("/credits"),
  validateSearch: search.credits,
  component: page(() => import("./pages/credits/credits-page.tsx"), "CreditsPage"),
});

const members = createRoute({
  ...ofShell("/members"),
  validateSearch: search.members,
  component: page(() => import("./pages/members/members-page.tsx"), "MembersPage"),
});

const settings = createRoute({
  ...ofShell("/settings"),
  component: page(() => import("./pages/organisation/settings-page.tsx"), "SettingsPage"),
});

const account = createRoute({
  ...ofShell("/account"),
  component: page(() => import("./pages/account/account-page.tsx"), "AccountPage"),
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
  // The query client caches data; the router only starts the queries.
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
  scrollRestoration: true,
  // Another agent or run is another page: reset its state and focus.
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
