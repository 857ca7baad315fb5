import { connect, defineFunction, defineService, silentLog } from "@patchbay/functions";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { startIssuer } from "@patchbay/test-support/issuer";
import { callThenAnswer, type Script, startStandIn } from "@patchbay/test-support/providers";
import { REPLICAS } from "../support/replicas.ts";

const ORIGIN = "https://shop.example";

/** A desk that notes who asked, and what ran. */
function createDesk() {
  const ran: string[] = [];
  const asked: unknown[] = [];
  const noted = (name: string) => () => void ran.push(name);
  const input = z.object({});
  const who = defineFunction({
    name: "who",
    description: "Says who asks.",
    input,
    roles: "everyone",
    handler: (_input, { role, context }) => void asked.push({ role, context }),
  });
  const wipe = defineFunction({
    name: "wipe",
    description: "Wipes.",
    input,
    roles: ["manager"],
    handler: noted("wipe"),
  });
  const confirm = defineFunction({
    name: "confirm",
    description: "Needs the caller.",
    input,
    roles: ["clerk"],
    approval: { by: ["caller"] },
    handler: noted("confirm"),
  });
  const escalate = defineFunction({
    name: "escalate",
    description: "Needs a manager, or another clerk.",
    input,
    roles: ["clerk"],
    approval: { by: ["manager", "clerk"] },
    handler: noted("escalate"),
  });
  const functions = [who, wipe, confirm, escalate];
  return { service: defineService({ name: "desk", roles: ["clerk", "manager"], functions }), ran, asked };
}

interface Chunk {
  type: string;
  approvalId?: string;
  messageMetadata?: { runId?: string };
}

const until = (condition: () => unknown) => expect.poll(condition, { interval: 50 }).toBeTruthy();

async function start(place: keyof typeof REPLICAS, script: Script) {
  const issuer = await startIssuer();
  const standIn = await startStandIn("anthropic", script);
  const callers = { issuer: issuer.url, audience: issuer.audience, roleClaim: "role", contextClaims: ["sub=userId"] };
  const replicas = await REPLICAS[place]({ providers: standIn.config, callers });
  if (!replicas) return undefined;
  const { planes, agentId, runtimeKey } = replicas;
  const { admin } = planes[0]!;
  const desk = createDesk();
  const runtime = connect(desk.service, { url: planes[0]!.url, agentId, key: runtimeKey, log: silentLog });
  await runtime.ready;
  const key = await admin.createKey({ agentId });
  const urlOf = (replica: number) => `${planes.at(replica)!.url}/agents/${agentId}`;

  async function make(body: object = {}, headers: Record<string, string> = {}): Promise<string> {
    const response = await fetch(`${urlOf(0)}/client-tokens`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key.apiKey, ...headers },
      body: JSON.stringify({ role: "clerk", context: { userId: "ada" }, expiresInSeconds: 600, ...body }),
    });
    expect(response.status).toBe(201);
    return ((await response.json()) as { token: string }).token;
  }

  /** A page with this token that asks the last replica. */
  function pageWith(token: string, more: Record<string, string> = {}) {
    const headers = { authorization: `Bearer ${token}`, origin: ORIGIN, "content-type": "application/json", ...more };
    const api = `${urlOf(-1)}/ui-stream`;
    const post = (message: object, body: object = {}) =>
      fetch(api, { method: "POST", headers, body: JSON.stringify({ id: "chat", messages: [message], ...body }) });
    return {
      open: (body: object = {}) => post({ role: "user", parts: [{ type: "text", text: "hi" }] }, body),
      async ask(body: object = {}): Promise<Chunk[]> {
        const response = await this.open(body);
        expect(response.status).toBe(200);
        return chunksIn(await response.text());
      },
      decide: (approvalId: string, body: object = {}) =>
        post(
          {
            role: "assistant",
            parts: [{ type: "x", state: "approval-responded", approval: { id: approvalId, approved: true } }],
          },
          body,
        ),
      get: (path: string) => fetch(`${api}/${path}`, { headers }),
      stop: (chat = "chat") => fetch(`${api}/${chat}/stop`, { method: "POST", headers }),
      messages: async (chat = "chat") => {
        const response = await fetch(`${api}/${chat}/messages`, { headers });
        return ((await response.json()) as { messages: unknown[] }).messages.length;
      },
    };
  }

  return {
    ...desk,
    admin,
    issuer,
    agentId,
    key,
    standIn,
    make,
    pageWith,
    urlOf,
    expireTokens: () => replicas.execute("update client_tokens set expires_at = created_at"),
    statusOf: async (runId: string) => (await planes[0]!.store.runs.facts(agentId, runId))?.status,
    async [Symbol.asyncDispose]() {
      await runtime.stop({ drainMs: 0 });
      await replicas[Symbol.asyncDispose]();
      await standIn[Symbol.asyncDispose]();
      await issuer[Symbol.asyncDispose]();
    },
  };
}

const chunksIn = (text: string): Chunk[] =>
  text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice("data: ".length)) as Chunk);

const approvalIn = (chunks: Chunk[]): string => chunks.find(({ approvalId }) => approvalId !== undefined)!.approvalId!;
const calls = (...names: string[]) => callThenAnswer(names.map((name) => ({ name })));

describe.each(Object.keys(REPLICAS) as (keyof typeof REPLICAS)[])("pages attack %s", (place) => {
  test("a page widens neither its role nor its context, by no member, header, path or token", async ({ skip }) => {
    await using desk = await start(place, calls("who", "wipe"));
    if (!desk) return skip();
    const token = await desk.make();
    const claims = { role: "manager", context: { userId: "eve" }, contextJson: '{"userId":"eve"}', threadId: "thr_x" };
    const context = Buffer.from('{"userId":"eve"}').toString("base64url");
    const headers = { "x-patchbay-role": "manager", "x-patchbay-context": context };

    await desk.pageWith(token).ask(claims);
    await desk.pageWith(token, headers).ask({ ...claims, id: "chat-2", body: claims, metadata: claims });

    const own = { role: "clerk", context: { userId: "ada" } };
    expect(desk.asked).toEqual([own, own]);
    expect(desk.ran).toEqual([]);

    const { issuer } = desk;
    const manager = await issuer.token({ role: "manager" });
    const forged = await issuer.forge({ alg: "HS256" }, issuer.claims({ role: "clerk" }), new Uint8Array(32));
    const refused: [string, number][] = [
      [manager, 403],
      [await issuer.token({ sub: "eve", role: "clerk" }), 400],
      [forged, 401],
      [manager.replace(/\.[^.]*$/, "."), 401],
    ];
    for (const [caller, status] of refused)
      expect((await desk.pageWith(token, { "x-patchbay-caller": caller }).open({ id: "x" })).status).toBe(status);
    for (const wrong of [token.slice(0, -1), `${token}0`, token.replace(/.$/, "~"), desk.key.keyId, manager])
      expect((await desk.pageWith(wrong).open()).status).toBe(401);
    expect(desk.asked).toHaveLength(2);
  });

  test("a page sees chats of its key, role and context only, and with a threadKey one", async ({ skip }) => {
    await using desk = await start(place, calls());
    if (!desk) return skip();
    const ada = desk.pageWith(await desk.make());
    await ada.ask();
    expect(await ada.messages()).toBe(2);
    expect(await desk.pageWith(await desk.make()).messages()).toBe(2);

    const proof = { "x-patchbay-caller": await desk.issuer.token({ role: "clerk" }) };
    const others = [
      await desk.make({ context: { userId: "eve" } }),
      await desk.make({ context: {} }),
      await desk.make({ role: "manager" }),
      await desk.make({ threadKey: "other" }),
      await desk.make({}, proof),
      await desk.make({}, { "x-api-key": (await desk.admin.createKey({ agentId: desk.agentId })).apiKey }),
    ];
    for (const other of others.map((token) => desk.pageWith(token)))
      expect([await other.messages(), (await other.get("chat/stream")).status, (await other.stop()).status]).toEqual([
        0, 204, 204,
      ]);

    const bound = desk.pageWith(others[3]!);
    await bound.ask({ id: "anything" });
    expect([await bound.messages("else"), await ada.messages("other"), await ada.messages("anything")]).toEqual([
      2, 2, 0,
    ]);
  });

  test("a page confirms calls of its own chats that name the caller, and decides nothing else", async ({ skip }) => {
    let wanted = "confirm";
    await using desk = await start(place, (...turn) => calls(wanted)(...turn));
    if (!desk) return skip();
    const ada = desk.pageWith(await desk.make());
    const confirmation = approvalIn(await ada.ask());
    const elsewhere = [
      desk.pageWith(await desk.make({ context: { userId: "eve" } })),
      desk.pageWith(await desk.make({ role: "manager" })),
      desk.pageWith(await desk.make({ threadKey: "other" })),
    ];
    for (const other of elsewhere) expect((await other.decide(confirmation)).status).toBe(404);
    expect((await ada.decide(confirmation, { id: "another" })).status).toBe(404);
    expect(desk.ran).toEqual([]);
    await (await ada.decide(confirmation)).text();
    await until(() => desk.ran.length === 1);

    wanted = "escalate";
    const escalation = approvalIn(await ada.ask({ id: "second" }));
    expect((await ada.decide(escalation, { id: "second" })).status).toBe(404);
    expect(desk.ran).toEqual(["confirm"]);
  });

  test("revoking the key ends its tokens at once and their streams soon; the run continues", async ({ skip }) => {
    const held = Promise.withResolvers<void>();
    await using desk = await start(place, async () => {
      await held.promise;
      return { text: "Done." };
    });
    if (!desk) return skip();
    const page = desk.pageWith(await desk.make());
    const stream = await page.open();
    const runId = stream.headers.get("X-Run-Id")!;
    const ended = stream.text().catch(() => "cut");
    await desk.standIn.received(1);

    await desk.admin.credentials.revoke("api", desk.key.keyId);

    expect((await page.open({ id: "new" })).status).toBe(401);
    expect((await page.get("chat/messages")).status).toBe(401);
    // The stream is closed although the model has not answered yet.
    await ended;
    expect(await desk.statusOf(runId)).toBe("running");
    held.resolve();
    await until(async () => (await desk.statusOf(runId)) === "succeeded");
  });

  test("a stream ends soon after its token has expired", async ({ skip }) => {
    const held = Promise.withResolvers<void>();
    await using desk = await start(place, async () => {
      await held.promise;
      return { text: "Done." };
    });
    if (!desk) return skip();
    const page = desk.pageWith(await desk.make());
    const stream = await page.open();
    expect(stream.status).toBe(200);
    await desk.expireTokens();
    await stream.text().catch(() => "cut");
    expect((await page.open({ id: "new" })).status).toBe(401);
    held.resolve();
  });

  test("pages of other origins read responses to tokens, never to keys", async ({ skip }) => {
    await using desk = await start(place, calls());
    if (!desk) return skip();
    const api = `${desk.urlOf(-1)}/ui-stream`;
    const preflight = await fetch(`${api}/chat/messages`, {
      method: "OPTIONS",
      headers: {
        origin: ORIGIN,
        "access-control-request-method": "GET",
        "access-control-request-headers": "authorization",
      },
    });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([204, ORIGIN]);
    const allowed = async (authorization: string) =>
      (await fetch(`${api}/chat/messages`, { headers: { origin: ORIGIN, authorization } })).headers.get(
        "access-control-allow-origin",
      );
    expect(await allowed(`Bearer ${await desk.make()}`)).toBe(ORIGIN);
    expect(await allowed("Bearer patchbay_ct_expired")).toBe(ORIGIN);
    expect(await allowed(`Bearer ${desk.key.apiKey}`)).toBeNull();
  });
});
