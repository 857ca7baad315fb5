import type { ServerResponse } from "node:http";
import { defineFunction, defineService } from "@patchbay/functions";
import { ROUTES } from "@patchbay/server/query/routes";
import { callThenAnswer } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { type ContractSystem, startContractSystem } from "./contract-system.ts";
import { type AttackedIssuer, FORGED, jwkOf, signed, startAttackedIssuer } from "./forged-tokens.ts";

const who = defineFunction({
  name: "who",
  description: "Says who asks.",
  input: z.object({}),
  roles: "everyone",
  handler: (_input, { role, context }) => ({ role: role ?? null, context }),
});
const wiped = vi.fn<() => string>(() => "wiped");
const wipe = defineFunction({
  name: "wipe",
  description: "Deletes everything.",
  input: z.object({}),
  roles: ["manager"],
  handler: wiped,
});
const service = defineService({ name: "desk", functions: [who, wipe] });
const obedient = callThenAnswer([{ name: "who" }, { name: "wipe" }]);

let issuer: AttackedIssuer;
let system: ContractSystem;

const start = (trusted: AttackedIssuer) =>
  startContractSystem(obedient, {
    service,
    callers: {
      issuer: trusted.url,
      audience: trusted.audience,
      roleClaim: "role",
      contextClaims: ["sub=userId", "tenant"],
    },
  });

beforeAll(async () => {
  issuer = await startAttackedIssuer();
  system = await start(issuer);
  await system.plane.admin.updateAgent(system.agentId, { settings: { callers: "keyless" } });
});

afterAll(async () => {
  await system?.[Symbol.asyncDispose]();
  await issuer?.[Symbol.asyncDispose]();
});

/** How a token is sent: as proof besides a key, and as the whole credential. */
const WAYS = {
  "with a key": (token: string) => ({ "x-api-key": system.apiKey, "x-patchbay-caller": token }),
  "without a key": (token: string) => ({ authorization: `Bearer ${token}` }),
} as const;
type Way = keyof typeof WAYS;
const ways = Object.keys(WAYS) as Way[];

async function asked(headers: Record<string, string>, body: object = {}, { url, path } = system) {
  const response = await fetch(url + path(), {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ query: "hi", ...body }),
  });
  const answer = (await response.json()) as { code?: string; toolInteractions?: { result?: { role: unknown } }[] };
  const challenge = response.headers.get("WWW-Authenticate");
  return { status: response.status, code: answer.code, who: answer.toolInteractions?.[0]?.result, challenge };
}

describe.each(ways)("%s", (way) => {
  const ask = (token: string, body: object = {}) => asked(WAYS[way](token), body);

  test.each([
    ["RS256", "r1", "rsa"],
    ["ES256", "e1", "ec"],
    ["EdDSA", "d1", "ed"],
  ] as const)("a token signed with %s is accepted", async (alg, kid, key) => {
    const token = signed({ alg, kid }, issuer.claims(), issuer.keys[key].privateKey, alg);
    expect(await ask(token)).toMatchObject({ status: 200, who: { role: "clerk", context: { userId: "ada" } } });
    expect(wiped).not.toHaveBeenCalled();
    expect(await ask(issuer.good(issuer.claims({ role: "manager" })))).toMatchObject({ who: { role: "manager" } });
    expect(wiped).toHaveBeenCalledOnce();
  });

  test.each(Object.entries(FORGED))("a token with %s is refused", async (_what, forge) => {
    const token = forge(issuer);
    expect(await ask(token)).toMatchObject({ status: 401, code: "authentication_failed" });
    expect(wiped).not.toHaveBeenCalled();
  });

  test("no route accepts a token that was signed with the public key", async () => {
    const token = FORGED["the public key as HMAC secret, in PEM"]!(issuer);
    const routes = ROUTES.filter(({ path }) => path.startsWith("/agents/"));
    const statuses = routes.map(async ({ method, path }) => {
      const address = system.url + path.replace(":agent_id", system.agentId).replaceAll(/:\w+/g, "unknown");
      const headers = { "content-type": "application/json", ...WAYS[way](token) };
      return (await fetch(address, { method, headers, ...(method === "POST" && { body: "{}" }) })).status;
    });
    expect(await Promise.all(statuses)).toEqual(routes.map(() => 401));
  });

  test.each([
    ["no role", undefined, null],
    ["a null role", null, null],
    ["an empty list of roles", [], null],
    ["a capital letter", "Manager", "Manager"],
    ["a space", "manager ", "manager "],
    ["a Cyrillic letter", "m\u0430nager", "m\u0430nager"],
    ["an invisible letter", "manager\u200b", "manager\u200b"],
    ["__proto__", "__proto__", "__proto__"],
    ["everyone", "everyone", "everyone"],
    ["an asterisk", "*", "*"],
  ])("a role with %s is not the role of the manager", async (_what, role, found) => {
    const token = issuer.good(issuer.claims({ role }));
    expect(await ask(token)).toMatchObject({ status: 200, who: { role: found } });
    expect(await ask(token, { role: "manager" })).toMatchObject({ status: 403, code: "role_not_allowed" });
    expect(wiped).not.toHaveBeenCalled();
  });

  test("of two role claims in one token the last counts, and prototypes have none", async () => {
    const twice = JSON.stringify(issuer.claims({ role: "manager" })).replace(
      '"role":"manager"',
      '"role":"manager","role":"clerk"',
    );
    expect(await ask(issuer.good(twice))).toMatchObject({ who: { role: "clerk" } });
    const inherited = JSON.stringify(issuer.claims({ role: undefined }));
    for (const member of ['"__proto__":{"role":"manager"}', '"constructor":{"prototype":{"role":"manager"}}'])
      expect(await ask(issuer.good(inherited.replace("{", `{${member},`)))).toMatchObject({ who: { role: null } });
    expect(wiped).not.toHaveBeenCalled();
  });

  test.each(['{"userId":"eve"}', '{"userId":null}', '{"tenant":1}', '{"user\\u0049d":"eve"}'])(
    "the context %s is refused, which the token does not prove",
    async (contextJson) => {
      expect(await ask(issuer.good(), { contextJson })).toMatchObject({ status: 400, code: "invalid_request" });
    },
  );

  test.each(['{"__proto__":{"userId":"eve"},"x":1}', '{"userId":"eve","userId":"ada"}'])(
    "the context %s does not change the proven one",
    async (contextJson) => {
      const { status, who: found } = await ask(issuer.good(), { contextJson });
      if (status !== 400) expect(found).toMatchObject({ context: { userId: "ada" } });
    },
  );
});

test("a token never opens a role that its pinned key has not", async () => {
  const { apiKey } = await system.plane.admin.createKey({ agentId: system.agentId, roles: ["clerk"] });
  const ask = (role: unknown, body = {}) =>
    asked({ "x-api-key": apiKey, "x-patchbay-caller": issuer.good(issuer.claims({ role })) }, body);
  expect(await ask("manager")).toMatchObject({ status: 403 });
  expect(await ask(["clerk", "manager"], { role: "manager" })).toMatchObject({ status: 403 });
  expect(await ask(["clerk", "manager"])).toMatchObject({ status: 200, who: { role: "clerk" } });
  expect(wiped).not.toHaveBeenCalled();
});

/** The answers of an issuer, by path; undefined: it answers as usual. */
type Answers = (issuer: AttackedIssuer) => (path: string, response: ServerResponse) => unknown;

const metadata =
  (more: (issuer: AttackedIssuer) => object): Answers =>
  (trusted) =>
  (_path, response) =>
    response.end(JSON.stringify({ issuer: trusted.url, jwks_uri: `${trusted.url}/keys`, ...more(trusted) }));
const keys =
  (send: (response: ServerResponse, issuer: AttackedIssuer) => unknown): Answers =>
  (trusted) =>
  (path, response) =>
    path === "/keys" ? send(response, trusted) : metadata(() => ({}))(trusted)(path, response);
const keySet = (make: (issuer: AttackedIssuer) => object[]): Answers =>
  keys((response, trusted) => response.end(JSON.stringify({ keys: make(trusted) })));

const byAttacker = (trusted: AttackedIssuer) => trusted.evil({ kid: "evil" });
const bySecret = ({ claims }: AttackedIssuer) => signed({ alg: "HS256", kid: "r1" }, claims(), "secret", "HS256");
const secret = { kty: "oct", k: Buffer.from("secret").toString("base64url"), kid: "r1", alg: "HS256" };

test.each<[what: string, answers: Answers, status: number, token?: (issuer: AttackedIssuer) => string]>([
  ["metadata of another issuer", metadata(() => ({ issuer: "http://evil" })), 503],
  ["keys in the operator's network", metadata(() => ({ jwks_uri: "http://169.254.169.254/latest" })), 503],
  ["keys in a file", metadata(() => ({ jwks_uri: "file:///etc/passwd" })), 503],
  [
    "keys behind a redirect",
    keys((response, { url }) => response.writeHead(302, { Location: `${url}/loot` }).end()),
    503,
    byAttacker,
  ],
  ["broken JSON", keys((response) => response.end("[1,2")), 503],
  ["an endless answer", keys(endless), 503],
  ["a secret", keySet(() => [secret]), 401, bySecret],
  [
    "a key of 1024 bits",
    keySet(({ keys: { small } }) => [jwkOf(small, "s1", { alg: "RS256" })]),
    401,
    ({ keys: { small }, claims }) => signed({ alg: "RS256", kid: "s1" }, claims(), small.privateKey, "RS256"),
  ],
  ["a key for encryption", keySet(({ keys: { rsa } }) => [jwkOf(rsa, "r1", { use: "enc" })]), 401],
  [
    "two keys without a kid",
    keySet(({ keys: { rsa, other } }) => [jwkOf(rsa, undefined), jwkOf(other, undefined)]),
    401,
    (trusted) => trusted.evil({}),
  ],
])("an issuer with %s proves no caller", async (_what, answers, status, token = ({ good }) => good()) => {
  await using hostile = await startAttackedIssuer();
  await using other = await start(hostile);
  const paths: string[] = [];
  const answer = answers(hostile);
  hostile.fail((path, response) => {
    paths.push(path);
    answer(path, response);
  });
  const headers = { "x-api-key": other.apiKey, "x-patchbay-caller": token(hostile) };
  expect(await asked(headers, {}, other)).toMatchObject({ status });
  expect(paths).not.toContain("/loot");
  expect(wiped).not.toHaveBeenCalled();
});

test("an issuer that does not answer makes its callers wait no longer than its time limit", async () => {
  await using hostile = await startAttackedIssuer();
  await using other = await start(hostile);
  const limit = new AbortController();
  const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(limit.signal);
  hostile.fail(() => limit.abort(new DOMException("The time limit is over.", "TimeoutError")));
  const headers = { "x-api-key": other.apiKey, "x-patchbay-caller": hostile.good() };
  expect(await asked(headers, {}, other)).toMatchObject({ status: 503, code: "unavailable" });
  expect(timeout).toHaveBeenCalledWith(5_000);
});

test("sixty unknown kids cause one request to the issuer", async () => {
  await using trusted = await startAttackedIssuer();
  await using other = await start(trusted);
  const ask = (token: string) => asked({ "x-api-key": other.apiKey, "x-patchbay-caller": token }, {}, other);
  await ask(trusted.good());
  const before = trusted.keyRequests();
  const floods = Array.from({ length: 60 }, (_, i) => ask(trusted.evil({ kid: `unknown-${i}` })));
  expect(new Set((await Promise.all(floods)).map(({ status }) => status))).toEqual(new Set([401]));
  expect(trusted.keyRequests() - before).toBe(1);
});

test.each([
  "http://169.254.169.254/",
  "ftp://x/",
  "http://localhost.evil.example/",
  "http://127.0.0.1.nip.io/",
  "javascript:1",
  "http://0.0.0.0/",
])("the issuer %s is refused at the start", async (address) => {
  await expect(startSystem({ callers: { issuer: address, audience: "patchbay" } })).rejects.toThrow("https:// address");
});

function endless(response: ServerResponse): void {
  response.write('{"keys":[');
  const more = (): void => {
    while (response.write(" ".repeat(65_536)));
  };
  response.on("drain", more);
  more();
}
