import { createPublicKey, generateKeyPairSync } from "node:crypto";
import type { JWTPayload } from "jose";
import { describe, expect, test } from "vitest";
import { startIssuer } from "@patchbay/test-support/issuer";
import { createCallerProof } from "../../src/accounts/callers.ts";
import { callerIdsOf } from "@patchbay/engine/ports/callers";
import { silentLog } from "@patchbay/kit";
import { clock, OF, refused, soon, start } from "./proof.ts";
import { provenCaller } from "./proven-caller.ts";

test.each(["RS256", "ES256", "EdDSA"])("a token signed with %s proves its subject, role and context", async (alg) => {
  await using issuer = await start({ contextClaims: ["tenant", "sub=userId", "/address/country"] });
  await issuer.addKey(alg, alg);

  const claims = issuer.claims({ role: "clerk", tenant: 7, address: { country: "NL" }, aud: ["x", issuer.audience] });
  const token = await issuer.token(claims, { kid: alg });

  expect(await issuer.prove(token)).toEqual({
    subject: "ada",
    ids: callerIdsOf({ issuer: issuer.url, subject: "ada" }),
    issuer: issuer.url,
    claims,
    token: { value: token, expiresAt: claims.exp! * 1_000 },
    roles: ["clerk"],
    context: { tenant: 7, userId: "ada", country: "NL" },
    members: ["tenant", "userId", "country"],
  });
});

describe("the role claim", () => {
  test.each([
    ["one role", { role: "clerk" }, ["clerk"]],
    ["a list", { role: ["clerk", "manager", "clerk"] }, ["clerk", "manager"]],
    ["an empty list", { role: [] }, []],
    ["null", { role: null }, []],
    ["no claim", {}, []],
    ["a claim of the prototype", { __proto__: { role: "clerk" } }, []],
  ])("%s gives these roles", async (_what, claims, roles) => {
    await using issuer = await start();
    expect(await issuer.proves(claims)).toMatchObject({ roles });
  });

  test.each([
    ["an object", { role: { name: "clerk" } }],
    ["a list in a list", { role: [["clerk"]] }],
    ["a list with an object", { role: ["clerk", { admin: true }] }],
    ["a number", { role: 1 }],
    ["an empty text", { role: "" }],
    ["a long text", { role: "r".repeat(201) }],
    ["too many roles", { role: Array.from({ length: 101 }, (_, i) => `r${i}`) }],
  ])("%s is refused", async (_what, claims) => {
    await using issuer = await start();
    await expect(issuer.proves(claims)).rejects.toMatchObject(refused("its claim role is neither a role nor a list"));
  });

  test("is found by a JSON Pointer through objects, not through lists", async () => {
    await using issuer = await start({ roleClaim: "/realm/a~1b/roles" });
    expect(await issuer.proves({ realm: { "a/b": { roles: ["clerk"] } } })).toMatchObject({ roles: ["clerk"] });
    expect(await issuer.proves({ realm: [{ roles: ["clerk"] }] })).toMatchObject({ roles: [] });
    expect(await issuer.proves({ "/realm/a~1b/roles": "clerk" })).toMatchObject({ roles: [] });
  });

  test("without the option, a token proves no role", async () => {
    await using issuer = await startIssuer();
    const settings = { issuer: issuer.url, audience: issuer.audience };
    const prove = createCallerProof(settings, { clock: clock(), log: silentLog });
    const proven = await prove(await issuer.token({ role: "clerk" }), OF);
    expect(proven).toMatchObject(provenCaller("ada", issuer.url));
    expect(proven.roles).toBeUndefined();
  });
});

test.each<[what: string, claims: JWTPayload | (() => JWTPayload), why: string]>([
  ["another issuer", { iss: "https://evil.example" }, "its issuer is not"],
  ["no issuer", { iss: undefined as never }, "its issuer is not"],
  ["another audience", { aud: "shop" }, "it is not for the audience patchbay"],
  ["no audience", { aud: undefined as never }, "it is not for the audience patchbay"],
  ["an end 61 s ago", () => ({ exp: soon() - 61 }), "it has expired"],
  ["no end", { exp: undefined as never }, "it has no time at which it expires"],
  ["an end in words", { exp: "tomorrow" as never }, "it has no time at which it expires"],
  ["an end in more than a day", () => ({ exp: soon() + 86_400 + 70 }), "it is valid for more than 86400 s"],
  ["a nonce", { nonce: "n" }, "it is an ID token, as its claim nonce shows"],
  ["a hash of an access token", { at_hash: "h" }, "it is an ID token, as its claim at_hash shows"],
  ["a hash of a code", { c_hash: "h" }, "it is an ID token, as its claim c_hash shows"],
  ["the use id", { token_use: "id" }, "it is an ID token, as its claim token_use shows"],
  ["a start in 70 s", () => ({ nbf: soon() + 70 }), "it is not valid yet"],
  ["no subject", { sub: undefined as never }, "its claim sub is not a text"],
  ["an empty subject", { sub: "" }, "its claim sub is not a text"],
  [
    "claims that nest too deeply",
    { deep: JSON.parse("[".repeat(70) + "]".repeat(70)) },
    "its claims nest more than 64",
  ],
  ["a subject that is an object", { sub: { name: "ada" } as never }, "its claim sub is not a text"],
])("a token with %s is refused", async (_what, claims, why) => {
  await using issuer = await start();
  await expect(issuer.proves(typeof claims === "function" ? claims() : claims)).rejects.toMatchObject(refused(why));
});

test("clocks may differ by a minute", async () => {
  await using issuer = await start();
  expect(await issuer.proves({ exp: soon() - 50, nbf: soon() + 50 })).toMatchObject({ subject: "ada" });
  expect(await issuer.proves({ exp: soon() + 86_450 })).toMatchObject({ subject: "ada" });
});

describe("forged tokens are refused", () => {
  const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

  test.each(["none", "None", "NONE", ""])("alg %j without a signature", async (alg) => {
    await using issuer = await start();
    const body = base64(issuer.claims({ role: "admin" }));
    for (const signature of ["", "AA"])
      await expect(issuer.prove(`${base64({ alg, kid: "first" })}.${body}.${signature}`)).rejects.toMatchObject({
        code: "authentication_failed",
      });
  });

  test("HS256 with the public key as secret", async () => {
    await using issuer = await start();
    const jwk = await issuer.addKey("rsa", "RS256");
    const pem = createPublicKey({ key: jwk, format: "jwk" }).export({ type: "spki", format: "pem" });
    for (const secret of [pem, JSON.stringify(jwk), jwk.n!]) {
      const key = new TextEncoder().encode(secret);
      const token = await issuer.forge({ alg: "HS256", kid: "rsa" }, issuer.claims({ role: "admin" }), key);
      await expect(issuer.prove(token)).rejects.toMatchObject(refused("its algorithm is not RS256, ES256 or EdDSA"));
    }
  });

  test("a key of the attacker, named by kid, jwk or jku", async () => {
    await using issuer = await start();
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const jwk = publicKey.export({ format: "jwk" });
    for (const header of [
      { kid: "first" },
      { jwk: jwk as never },
      { kid: "first", jku: "https://evil.example/keys" },
    ]) {
      const token = await issuer.forge({ alg: "ES256", ...header }, issuer.claims({ role: "admin" }), privateKey);
      await expect(issuer.prove(token)).rejects.toMatchObject(refused("its signature is wrong"));
    }
  });

  test("other algorithms, also with a published key", async () => {
    await using issuer = await start();
    for (const alg of ["RS384", "PS256", "ES384"]) {
      await issuer.addKey(alg, alg);
      const token = issuer.token({ role: "admin" }, { kid: alg });
      await expect(token.then(issuer.prove)).rejects.toMatchObject(refused("its algorithm is not"));
    }
  });

  test("changed claims, several tokens in one header, long ones and none", async () => {
    await using issuer = await start();
    const good = await issuer.token({ role: "clerk" });
    const [head, , signature] = good.split(".");
    const changed = [head, base64(issuer.claims({ role: "admin" })), signature].join(".");
    await expect(issuer.prove(changed)).rejects.toMatchObject(refused("its signature is wrong"));
    for (const text of [`${good}, ${good}`, `Bearer ${good}`, "", "a.b", `${good}.x.y`])
      await expect(issuer.prove(text)).rejects.toMatchObject(refused("it is not one signed JWT"));
    const long = await issuer.token({ role: "clerk", note: "n".repeat(8_192) });
    await expect(issuer.prove(long)).rejects.toMatchObject(refused("it has more than 8192 characters"));
    await expect(issuer.prove("a.b.c")).rejects.toMatchObject(refused("it is not a signed JWT"));
  });
});

describe("the issuer's keys", () => {
  test("are read once, also by concurrent requests, and again after ten minutes", async () => {
    await using issuer = await start();
    const token = await issuer.token({ exp: soon() + 3_000 });
    await Promise.all(Array.from({ length: 20 }, () => issuer.prove(token)));
    expect(issuer.keyRequests()).toBe(1);

    issuer.later(9 * 60_000);
    await issuer.prove(token);
    expect(issuer.keyRequests()).toBe(1);

    issuer.later(2 * 60_000);
    await issuer.prove(token);
    await expect.poll(issuer.keyRequests).toBe(2);
  });

  test("are as old as the request for them, however slow the issuer is", async () => {
    await using issuer = await start();
    issuer.beforeKeys(() => issuer.later(9 * 60_000));
    const token = await issuer.token({ exp: soon() + 3_000 });
    await issuer.prove(token);
    issuer.beforeKeys(() => {});

    issuer.later(2 * 60_000);
    await issuer.prove(token);
    await expect.poll(issuer.keyRequests).toBe(2);
  });

  test("are read again for an unknown kid once a minute, however many tokens have one", async () => {
    await using issuer = await start();
    await issuer.proves({});
    await issuer.addKey("second");
    expect(await issuer.prove(await issuer.token({}, { kid: "second" }))).toMatchObject({ subject: "ada" });
    expect(issuer.keyRequests()).toBe(2);

    await issuer.addKey("third");
    issuer.withdraw("third");
    const unknown = await issuer.token({ exp: soon() + 3_000 }, { kid: "third" });
    const flood = () =>
      Promise.all(
        Array.from({ length: 50 }, () =>
          expect(issuer.prove(unknown)).rejects.toMatchObject(refused("the issuer has no key for its kid")),
        ),
      );
    await flood();
    expect(issuer.keyRequests()).toBe(2);
    issuer.later(61_000);
    await flood();
    await flood();
    expect(issuer.keyRequests()).toBe(3);
  });

  test("that were withdrawn no longer count once the keys are read again", async () => {
    await using issuer = await start();
    await issuer.addKey("second");
    const old = await issuer.token({ exp: soon() + 3_000 });
    await issuer.prove(old);
    issuer.withdraw("first");
    issuer.later(11 * 60_000);
    await issuer.prove(await issuer.token({ exp: soon() + 3_000 }, { kid: "second" }));
    await expect
      .poll(() => issuer.prove(old).catch(({ code }: { code: string }) => code))
      .toBe("authentication_failed");
  });

  test("that cannot be read leave the known ones valid for an hour", async () => {
    await using issuer = await start();
    await issuer.proves({});
    issuer.fail({ status: 500 });
    issuer.later(50 * 60_000);
    const exp = soon() + 100 * 60;
    expect(await issuer.prove(await issuer.token({ exp }))).toMatchObject({ subject: "ada" });
    issuer.later(15 * 60_000);
    await expect(issuer.proves({ exp })).rejects.toMatchObject({ code: "unavailable" });
  });

  test.each([
    ["an error", { status: 503 }],
    ["text", { body: "<html>" }],
    ["another issuer's metadata", { body: JSON.stringify({ issuer: "https://evil.example", jwks_uri: "https://x" }) }],
    ["keys on an address without TLS", { body: JSON.stringify({ jwks_uri: "http://keys.example/" }) }],
    ["a large answer", { body: JSON.stringify({ keys: "k".repeat(300_000) }) }],
  ])("%s is unavailable, is tried again after 5 s, and heals", async (_what, fault) => {
    await using issuer = await start();
    issuer.fail(fault);
    await expect(issuer.proves({})).rejects.toMatchObject({ code: "unavailable" });
    issuer.fail(undefined);
    await expect(issuer.proves({})).rejects.toMatchObject({ code: "unavailable" });
    issuer.later(5_001);
    expect(await issuer.proves({})).toMatchObject({ subject: "ada" });
  });

  test("are not used beyond --caller-keys-max-age, also while the issuer is unreachable", async () => {
    await using issuer = await start({ keysMaxAgeSeconds: 60 });
    await issuer.addKey("second");
    const token = await issuer.token({}, { kid: "second" });
    expect(await issuer.prove(token)).toMatchObject({ subject: "ada" });
    issuer.withdraw("second");
    issuer.later(59_000);
    expect(await issuer.prove(token)).toMatchObject({ subject: "ada" });
    issuer.later(2_000);
    await expect(issuer.prove(token)).rejects.toMatchObject(refused("no key for its kid"));
    issuer.later(61_000);
    issuer.fail({ status: 500 });
    await expect(issuer.proves({})).rejects.toMatchObject({ code: "unavailable" });
  });

  test("come from --caller-jwks-url where it is given", async () => {
    await using issuer = await startIssuer();
    const settings = { issuer: "https://id.example", audience: issuer.audience, jwksUrl: `${issuer.url}/keys` };
    const prove = createCallerProof(settings, { clock: clock(), log: silentLog });
    expect(await prove(await issuer.token({ iss: "https://id.example" }), OF)).toMatchObject({ subject: "ada" });
  });
});

test.each([
  [{ issuer: "http://id.example" }, "an https:// address is needed"],
  [{ issuer: "id.example" }, "an https:// address is needed"],
  [{ issuer: "https://id.example", audience: undefined as never }, "need an audience or the server's public URL"],
  [{ issuer: "https://id.example", jwksUrl: "http://id.example/keys" }, "an https:// address is needed"],
  [{ issuer: "https://id.example", contextClaims: ["sub", "email=sub"] }, "one member of the context: sub"],
])("the settings %o are refused", (settings, why) => {
  const make = () => createCallerProof({ audience: "patchbay", ...settings }, { clock: clock(), log: silentLog });
  expect(make).toThrow(why);
});
