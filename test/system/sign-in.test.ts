import {
  Client,
  CrossAppAccessProvider,
  discoverAndRequestJwtAuthGrant,
  discoverAuthorizationServerMetadata,
  exchangeAuthorization,
  startAuthorization,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { createClient, type PatchbayError } from "@patchbay/client";
import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { OAuthClientInformationFull, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import { decodeJwt } from "jose";
import OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { STAFF_APP } from "../support/identity-provider.ts";
import { startSignedInDesk } from "../support/signed-in-desk.ts";
import { UiChat } from "../support/ui-chat.ts";

let desk: Awaited<ReturnType<typeof startSignedInDesk>>;

beforeAll(async () => {
  desk = await startSignedInDesk();
});
beforeEach(() => void desk.handled.splice(0));
afterAll(async () => await desk?.[Symbol.asyncDispose]());

/** What an application stores for the OAuth client of the SDK, and a browser in which `user` signs in. */
function applicationOf(user: string) {
  const redirectUrl = "http://127.0.0.1:1/callback";
  let client: OAuthClientInformationFull | undefined;
  let tokens: OAuthTokens | undefined;
  let verifier = "";
  let discovered: OAuthDiscoveryState | undefined;
  let callback: URL | undefined;
  const authProvider = {
    redirectUrl,
    clientMetadata: {
      client_name: "Desk application",
      redirect_uris: [redirectUrl],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code"],
    },
    clientInformation: () => client,
    saveClientInformation: (information) => void (client = information as OAuthClientInformationFull),
    tokens: () => tokens,
    saveTokens: (granted) => void (tokens = granted),
    saveCodeVerifier: (made) => void (verifier = made),
    codeVerifier: () => verifier,
    saveDiscoveryState: (state) => void (discovered = state),
    discoveryState: () => discovered,
    async redirectToAuthorization(url) {
      callback = await desk.provider.signIn(url, user);
    },
  } satisfies OAuthClientProvider;
  return { authProvider, callback: () => callback!.searchParams, token: () => tokens!.access_token };
}

type Connected = Pick<Client, "listTools" | "callTool" | "close">;

/** Signs a person in with one of the SDK's clients: a first connection is refused, and leads to the identity provider. */
const SIGN_IN = {
  async "@modelcontextprotocol/sdk"(user: string, endpoint = `${desk.address}/mcp`) {
    const { authProvider, callback, token } = applicationOf(user);
    const transport = () => new FirstTransport(new URL(endpoint), { authProvider });
    const connect = async () => {
      const client = new FirstClient({ name: "first", version: "1" });
      await client.connect(transport());
      return client as unknown as Connected;
    };
    await expect(connect()).rejects.toThrow("Unauthorized");
    await transport().finishAuth(callback().get("code")!);
    return { client: await connect(), token: token() };
  },
  async "@modelcontextprotocol/client"(user: string, endpoint = `${desk.address}/mcp`) {
    const { authProvider, callback, token } = applicationOf(user);
    const transport = () => new StreamableHTTPClientTransport(new URL(endpoint), { authProvider });
    const connect = async (): Promise<Connected> => {
      const client = new Client({ name: "second", version: "1" });
      await client.connect(transport());
      return client;
    };
    await expect(connect()).rejects.toThrow("Unauthorized");
    await transport().finishAuth(callback());
    return { client: await connect(), token: token() };
  },
};
const signIn = SIGN_IN["@modelcontextprotocol/client"];

const namesOf = async (client: Connected) => (await client.listTools()).tools.map(({ name }) => name);
const call = (client: Connected, name: string) => client.callTool({ name, arguments: {} });

test.each(Object.entries(SIGN_IN))(
  "the OAuth client of %s signs in and calls the functions of its role",
  async (_package, sign) => {
    const { client: ada } = await sign("ada");
    expect(await namesOf(ada)).toEqual(["look", "sell"]);
    expect(await call(ada, "sell")).toMatchObject({ content: [{ text: "sell was done" }] });
    await expect(call(ada, "wipe")).rejects.toThrow("Unknown tool: wipe");

    const { client: grace } = await sign("grace");
    expect(await namesOf(grace)).toEqual(["look", "wipe"]);
    expect(await call(grace, "wipe")).toMatchObject({ content: [{ text: "wipe was done" }] });

    const { client: eve } = await sign("eve");
    expect(await namesOf(eve)).toEqual(["look"]);
    expect(desk.handled).toEqual([
      ["sell", "clerk", "ada"],
      ["wipe", "manager", "grace"],
    ]);
    await Promise.all([ada, grace, eve].map((client) => client.close()));
  },
);

test("a token for the MCP endpoint of one agent does not open another", async () => {
  const { agentId } = await desk.plane.admin.createAgent("Other", { orgId: desk.orgId });
  await desk.plane.admin.updateAgent(agentId, { settings: { callers: "keyless" } });
  const other = `${desk.url}/agents/${agentId}/mcp`;
  const [own, foreign] = [await signIn("ada"), await signIn("ada", other)];
  expect(decodeJwt(foreign.token).aud).toBe(other);

  const list = async (address: string, token: string) =>
    (
      await fetch(address, {
        method: "POST",
        headers: {
          authorization: `Bearer ${token}`,
          accept: "application/json, text/event-stream",
          "content-type": "application/json",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
      })
    ).status;
  expect(await list(other, foreign.token)).toBe(200);
  expect(await list(other, own.token)).toBe(401);
  expect(await list(`${desk.address}/mcp`, foreign.token)).toBe(401);
  await Promise.all([own.client.close(), foreign.client.close()]);
});

/** The adapters besides MCP: each sends one query with the token as its only credential, and returns the text of the answer. */
const ADAPTERS: Record<string, (token: string) => Promise<string>> = {
  async "the query"(token) {
    const client = createClient({ baseUrl: desk.url, agentId: desk.agentId, token });
    return (await client.query({ query: "hi" })).response;
  },
  async "the query stream"(token) {
    const client = createClient({ baseUrl: desk.url, agentId: desk.agentId, token: async () => token });
    for await (const { event } of client.queryStream({ query: "hi" }))
      if (event.type === "finalResponse") return event.response;
    return "no answer";
  },
  async "OpenAI's chat completions"(token) {
    const client = new OpenAI({ baseURL: `${desk.address}/v1`, apiKey: token, maxRetries: 0 });
    const messages = [{ role: "user" as const, content: "hi" }];
    const { choices } = await client.chat.completions.create({ model: desk.agentId, messages });
    return choices[0]!.message.content!;
  },
  async "the AI SDK's chat"(token) {
    const chat = new UiChat(`${desk.address}/ui-stream`, { headers: { authorization: `Bearer ${token}` } });
    await chat.sendMessage({ text: "hi" });
    return chat.texts.at(-1)!;
  },
};

describe("with the token of a sign-in and no key", () => {
  const tokens: Record<string, string> = {};
  beforeAll(async () => {
    for (const user of ["ada", "grace", "eve"]) {
      const { client, token } = await signIn(user);
      await client.close();
      tokens[user] = token;
    }
  });

  test.each(Object.entries(ADAPTERS))("%s has the role of the token", async (_adapter, send) => {
    expect(await send(tokens["ada"]!)).toContain("sell was done");
    expect(await send(tokens["grace"]!)).toContain("wipe was done");
    expect(await send(tokens["eve"]!)).not.toContain("was done");
    expect(desk.handled).toEqual([
      ["sell", "clerk", "ada"],
      ["wipe", "manager", "grace"],
    ]);
  });
});

test("a token that the identity provider exchanged is a token like any other", async () => {
  const client = { client_id: STAFF_APP.id, client_secret: STAFF_APP.secret };
  const issuer = desk.provider.url;
  const metadata = (await discoverAuthorizationServerMetadata(issuer))!;
  const staffSignIn = { metadata, clientInformation: client };
  const { authorizationUrl, codeVerifier } = await startAuthorization(issuer, {
    ...staffSignIn,
    redirectUrl: STAFF_APP.redirect,
    scope: "openid",
  });
  const { searchParams } = await desk.provider.signIn(authorizationUrl, "grace");
  const { id_token: idToken } = await exchangeAuthorization(issuer, {
    ...staffSignIn,
    authorizationCode: searchParams.get("code")!,
    iss: searchParams.get("iss")!,
    codeVerifier,
    redirectUri: STAFF_APP.redirect,
  });
  const granted: string[] = [];
  const authProvider = new CrossAppAccessProvider({
    assertion: async ({ authorizationServerUrl, resourceUrl, fetchFn }) => {
      const { jwtAuthGrant } = await discoverAndRequestJwtAuthGrant({
        idpUrl: issuer,
        audience: authorizationServerUrl,
        resource: resourceUrl,
        idToken: idToken!,
        clientId: STAFF_APP.id,
        clientSecret: STAFF_APP.secret,
        fetchFn,
      });
      granted.push(jwtAuthGrant);
      return jwtAuthGrant;
    },
    clientId: STAFF_APP.id,
    clientSecret: STAFF_APP.secret,
    expectedIssuer: issuer,
  });

  const grace = new Client({ name: "staff", version: "1" });
  await grace.connect(new StreamableHTTPClientTransport(new URL(`${desk.address}/mcp`), { authProvider }));
  expect(await namesOf(grace)).toEqual(["look", "wipe"]);
  await call(grace, "wipe");
  expect(desk.handled).toEqual([["wipe", "manager", "grace"]]);
  await grace.close();

  // Neither the assertion nor the ID token is an access token.
  for (const token of [granted[0]!, idToken!]) {
    const { message, status } = (await ADAPTERS["the query"]!(token).catch((error: unknown) => error)) as PatchbayError;
    expect([status, message]).toEqual([401, expect.stringContaining("not accepted")]);
  }
});
