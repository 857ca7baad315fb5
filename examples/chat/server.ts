import { serveStatic } from "@hono/node-server/serve-static";
import { createClient, handleChat, PatchbayError } from "@patchbay/client";
import { Hono, type Context } from "hono";
import { setCookie } from "hono/cookie";
import { parse } from "hono/utils/cookie";
import { PEOPLE, type Person } from "./people.ts";

export interface ChatServerOptions {
  /** Address of the control plane. */
  url: string;
  agent: string;
  /** Key that sends the messages of all people. */
  key: string;
  /** Key that decides approvals: another one, because the key that asks may not decide. */
  approverKey: string;
  /** Folder of the built page. */
  page: string;
}

/** The server between the page and the agent. It holds the keys, and only it says who asks. */
export function createChatServer({ url, agent, key, approverKey, page }: ChatServerOptions): Hono {
  const chat = handleChat({
    url,
    agent,
    key,
    role: (request) => personOf(request)?.role ?? new Response("Sign in first.", { status: 401 }),
    context: (request) => personOf(request)?.context,
    user: (request) => personOf(request)?.id ?? "",
  });
  const approver = createClient({ baseUrl: url, agentId: agent, apiKey: approverKey });

  const app = new Hono();
  app.all("/api/chat/*", ({ req }) => chat(req.raw));

  app.get("/api/session", (c) => c.json({ people: PEOPLE, person: personOf(c.req.raw) }));
  app.put("/api/session/:person", (c) => {
    const person = PEOPLE.find(({ id }) => id === c.req.param("person"));
    if (!person) return c.json({ errorMessage: "No such person." }, 404);
    // In place of your sign-in: here, a visitor chooses who to be.
    setCookie(c, COOKIE, person.id, { httpOnly: true, sameSite: "Strict", path: "/" });
    return c.json({ people: PEOPLE, person });
  });

  app.get("/api/approvals", async (c) => {
    if (personOf(c.req.raw)?.role !== "manager") return managersOnly(c);
    return c.json((await approver.listApprovals({ status: "pending" })).items);
  });
  app.get("/api/approvals/:id", async (c) => {
    const { role, status } = await approver.getApproval(c.req.param("id"));
    // A state of another role's calls is nothing for this person.
    if (role !== personOf(c.req.raw)?.role) return c.json({ errorMessage: "No such approval." }, 404);
    return c.json({ status });
  });
  app.post("/api/approvals/:id", async (c) => {
    if (personOf(c.req.raw)?.role !== "manager") return managersOnly(c);
    const { approved } = await c.req.json<{ approved: boolean }>();
    return c.json(await approver.decideApproval(c.req.param("id"), { approved, as: "manager" }));
  });

  app.onError((error, c) => {
    if (!(error instanceof PatchbayError)) throw error;
    const status = error.status === 404 || error.status === 409 ? error.status : 502;
    return c.json({ errorMessage: error.message }, status);
  });
  app.use(serveStatic({ root: page }));
  return app;
}

const COOKIE = "person";

function personOf({ headers }: Request): Person | undefined {
  const { [COOKIE]: signedIn } = parse(headers.get("Cookie") ?? "", COOKIE);
  return PEOPLE.find(({ id }) => id === signedIn);
}

const managersOnly = (c: Context) => c.json({ errorMessage: "Only managers decide approvals." }, 403);
