import { CancelledError, type QueryClient } from "@tanstack/react-query";
import {
  type AnyRoute,
  type AnyValidator,
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from "@tanstack/react-router";
import { ApiError, unreachable } from "./api/api-error.ts";
import { queryClient, resource, sessionQuery } from "./api/api.ts";
import { AgentPages, FailedPage, NotFoundPage } from "./ui/error-pages.tsx";
import { LinkSkeleton, SignInSkeleton } from "./pages/sign-in/sign-in-frame.tsx";
import { FrameSkeleton } from "./shell/frame.tsx";
import { Shell } from "./shell/shell.tsx";
import { parseSearch, searchOf, stringifySearch, text } from "./state/page-search.ts";
import { PREFIX } from "./state/prefix.ts";
import { PageSkeleton } from "./ui/page.tsx";
import * as search from "./state/page-search.ts";

/**
 * Loads a page's code. Fails as `unreachable`, which the page offers to retry, when the control plane does not respond.
 * When it does respond, a newer version has replaced the file: the error passes through and the router reloads the
 * document.
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

const root = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Outlet,
  // An unknown address has no parent route: show it within the shell, so that the navigation stays.
  notFoundComponent: () => (
    <Shell>
      <NotFoundPage />
    </Shell>
  ),
});

/** The parent of every page that requires a session. */
const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  component: Shell,
  pendingComponent: FrameSkeleton,
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

const home = createRoute({
  getParentRoute: () => shell,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/agents" });
  },
});

const agent = createRoute({
  getParentRoute: () => shell,
  path: "/agents/$agentId",
  component: AgentPages,
  loader: async ({ context: { queries }, params }) => {
    const agentQuery = resource("/agents/:agent_id", { params });
    // The header runs the same query: when it unmounts, it cancels the shared request, so start it again.
    const ensure = () => queries.ensureQueryData(agentQuery);
    await ensure().catch((error: unknown) => (error instanceof CancelledError ? ensure() : Promise.reject(error)));
  },
});

/** A page's route; its code loads when it is first opened. */
function page<
  Parent extends AnyRoute,
  const Path extends string,
  Module extends Record<string, unknown>,
  Search extends AnyValidator = undefined,
>(parent: Parent, path: Path, load: () => Promise<Module>, name: keyof Module & string, validateSearch?: Search) {
  const component = lazyRouteComponent(() => pageCode(load), name);
  return createRoute({ getParentRoute: () => parent, path, component, validateSearch: validateSearch as Search });
}

const routeTree = root.addChildren([
  page(
    root,
    "/sign-in",
    () => import("./pages/sign-in/sign-in-page.tsx"),
    "SignInPage",
    searchOf({ back: text }),
  ).update({ pendingComponent: SignInSkeleton }),
  page(root, "/link", () => import("./pages/sign-in/link-page.tsx"), "LinkPage").update({
    pendingComponent: LinkSkeleton,
  }),
  shell.addChildren([
    home,
    agent.addChildren([
      page(agent, "/", () => import("./pages/agents/overview-page.tsx"), "OverviewPage"),
      page(
        agent,
        "/analytics",
        () => import("./pages/analytics/analytics-page.tsx"),
        "AgentAnalyticsPage",
        search.analytics,
      ),
      page(
        agent,
        "/playground",
        () => import("./pages/playground/playground-page.tsx"),
        "PlaygroundPage",
        search.playground,
      ),
      page(agent, "/runs", () => import("./pages/runs/runs-page.tsx"), "RunsPage", search.runs),
      page(agent, "/runs/$runId", () => import("./pages/runs/run-page.tsx"), "RunPage", search.run),
      page(agent, "/compare", () => import("./pages/runs/compare-page.tsx"), "ComparePage", search.compare),
      page(agent, "/threads", () => import("./pages/threads/threads-page.tsx"), "ThreadsPage", search.threads),
      page(agent, "/threads/$threadId", () => import("./pages/threads/thread-page.tsx"), "ThreadPage"),
      page(agent, "/sessions", () => import("./pages/sessions/sessions-page.tsx"), "SessionsPage", search.sessions),
      page(
        agent,
        "/functions",
        () => import("./pages/functions/functions-page.tsx"),
        "FunctionsPage",
        search.functions,
      ),
      page(
        agent,
        "/functions/$functionName",
        () => import("./pages/functions/function-page.tsx"),
        "FunctionPage",
        search.oneFunction,
      ),
      page(agent, "/access", () => import("./pages/access/access-page.tsx"), "AccessPage", search.access),
      page(agent, "/keys", () => import("./pages/keys/keys-page.tsx"), "KeysPage", search.keys),
      page(agent, "/webhook", () => import("./pages/webhook/webhook-page.tsx"), "WebhookPage", search.webhook),
      page(agent, "/runtimes", () => import("./pages/runtimes/runtimes-page.tsx"), "RuntimesPage"),
      page(agent, "/settings", () => import("./pages/agents/agent-settings-page.tsx"), "AgentSettingsPage"),
    ]),
    page(shell, "/agents", () => import("./pages/agents/agents-page.tsx"), "AgentsPage", search.agents),
    page(shell, "/analytics", () => import("./pages/analytics/analytics-page.tsx"), "AnalyticsPage", search.analytics),
    page(shell, "/approvals", () => import("./pages/approvals/approvals-page.tsx"), "ApprovalsPage", search.approvals),
    page(shell, "/audit", () => import("./pages/audit/audit-page.tsx"), "AuditPage", search.audit),
    page(shell, "/credits", () => import("./pages/credits/credits-page.tsx"), "CreditsPage", search.credits),
    page(shell, "/members", () => import("./pages/members/members-page.tsx"), "MembersPage", search.members),
    page(shell, "/settings", () => import("./pages/organisation/settings-page.tsx"), "SettingsPage"),
    page(shell, "/account", () => import("./pages/account/account-page.tsx"), "AccountPage"),
  ]),
]);

export const router = createRouter({
  routeTree,
  basepath: `${PREFIX}/console`,
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
