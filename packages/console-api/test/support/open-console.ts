import { createMemoryBus } from "@patchbay/gateway/bus/memory-bus";
import { createApprovals } from "@patchbay/engine/run/approvals";
import { DEFAULT_LIMITS } from "@patchbay/protocol";
import type { ConsoleRole } from "@patchbay/protocol/console";
import { Hono } from "hono";
import type { AccessWatch } from "@patchbay/engine/ports/access-watch";
import { createAdmin } from "@patchbay/server/accounts/admin";
import { DEFAULT_TIERS } from "@patchbay/server/accounts/limits";
import { mountConsole } from "../../src/mount.ts";
import type { ConsoleDeps } from "../../src/handler.ts";
import { createConsoleQueries } from "../../src/queries.ts";
import type { HttpEnv } from "@patchbay/server/kernel/exchange";
import { createOpenStreams } from "@patchbay/server/query/open-streams";
import { silentLog } from "@patchbay/kit";
import { silentMetrics } from "@patchbay/engine/ports/metrics";
import { openStore } from "@patchbay/store/open";
import { createFakeRuns } from "../../../server/test/http/support/fake-runs.ts";
import { HandClock } from "../../../store/test/contract/world.ts";

const UNWATCHED: AccessWatch = { hold: () => ({ [Symbol.dispose]() {} }) };

export const PASSWORD = "correct horse battery";

export interface Asked {
  body?: unknown;
  headers?: Record<string, string>;
}

/** A browser on a page of the service: it keeps cookies and sends Sec-Fetch-Site. */
export interface Browser {
  /** The session cookie. */
  cookie: string;
  /** The cookie that proves an earlier sign-in. */
  known: string;
  ask(method: string, path: string, asked?: Asked): Promise<Response>;
  signIn(email: string, password?: string): Promise<Response>;
}

/** The console with one organisation, over a store whose clock only the test moves. */
export async function openConsole(overrides: Partial<ConsoleDeps> = {}, url = "sqlite::memory:") {
  const clock = new HandClock();
  const store = await openStore(url, { clock });
  const admin = createAdmin({ store });
  const { orgId } = await admin.createOrg("Acme");
  const app = new Hono<HttpEnv>();
  const queries = createConsoleQueries(store.engine);
  mountConsole(app, {
    store,
    engine: store.engine,
    queries,
    adminOf: (by) => createAdmin({ store, by }),
    runs: createFakeRuns(),
    approvals: createApprovals({ ...store, bus: createMemoryBus() }),
    gateway: {
      connected: async () => false,
      serving: async () => ({ services: [] }),
    } as unknown as ConsoleDeps["gateway"],
    models: { choose: () => ({ missing: "none" }), providers: () => [] },
    tiers: DEFAULT_TIERS,
    retentionDays: 30,
    auditDays: 365,
    usageDays: 90,
    databaseOption: null,
    within: (org, work) => store.within(org, work),
    rateLimit: async () => undefined,
    metrics: silentMetrics,
    streams: createOpenStreams({ limits: DEFAULT_LIMITS, access: UNWATCHED, metrics: silentMetrics }),
    access: UNWATCHED,
    log: silentLog,
    // A wait ends immediately and moves the clock by its length.
    clock: { now: () => clock.now(), sleep: async (ms) => clock.advance(ms) },
    version: "0.0.0",
    limits: DEFAULT_LIMITS,
    reads: { run: (_client, work) => work() },
    local: true,
    trustProxy: false,
    closing: new AbortController().signal,
    ...overrides,
  });

  function browser(host = "localhost:8787", remoteAddress = "192.0.2.1"): Browser {
    const env = { incoming: { socket: { remoteAddress } } } as unknown as HttpEnv["Bindings"];
    const self: Browser = {
      cookie: "",
      known: "",
      async ask(method, path, { body, headers = {} } = {}) {
        const response = await app.request(
          `http://${host}${path}`,
          {
            method,
            headers: {
              Host: host,
              "Sec-Fetch-Site": "same-origin",
              Cookie: [self.cookie, self.known].filter(Boolean).join("; "),
              ...(body !== undefined && { "Content-Type": "application/json" }),
              ...headers,
            },
            ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
          },
          env,
        );
        for (const set of response.headers.getSetCookie()) {
          const cookie = set.includes("Max-Age=0") ? "" : (set.split(";")[0] ?? "");
          self[/^[^=]+-known=/.test(set) ? "known" : "cookie"] = cookie;
        }
        return response;
      },
      signIn: (email, password = PASSWORD) => self.ask("POST", "/api/session", { body: { email, password } }),
    };
    return self;
  }

  /** A member who accepted an invitation, with a signed-in browser. */
  async function member(role: ConsoleRole, { email = `${role}@example.com`, org = orgId } = {}) {
    const { member, path } = await admin.members.invite({ orgId: org, email, role });
    const signedIn = browser();
    const body = { link: path.split("#")[1], name: role, password: PASSWORD };
    const accepted = await signedIn.ask("POST", "/api/links/accept", { body });
    if (!accepted.ok) throw new Error(await accepted.text());
    return { ...signedIn, memberId: member.memberId, email, browser: signedIn };
  }

  return { store, queries, clock, admin, orgId, app, browser, member, [Symbol.asyncDispose]: () => store.close() };
}

/** Status and code of a failure. */
export async function failureOf(response: Response): Promise<[number, string]> {
  const { code } = (await response.json()) as { code: string };
  return [response.status, code];
}
