import { describe, expect, test } from "vitest";
import { startIssuer } from "@patchbay/test-support/issuer";
import { createCallerProof } from "../../src/accounts/callers.ts";
import { silentLog } from "@patchbay/kit";
import { clock, OF, refused, soon, start } from "./proof.ts";

test("--caller-max-age limits the time until the end of a token", async () => {
  await using issuer = await start({ maxAgeSeconds: 120 });
  expect(await issuer.proves({ exp: soon() + 170 })).toMatchObject({ subject: "ada" });
  await expect(issuer.proves({ exp: soon() + 190 })).rejects.toMatchObject(refused("valid for more than 120 s"));
});

test.each([
  ["at+jwt", true],
  ["AT+JWT", true],
  ["application/at+jwt", true],
  ["JWT", true],
  ["logout+jwt", false],
  ["dpop+jwt", false],
  ["id-token", false],
  ["", false],
])("a token with the typ %j is accepted: %j", async (typ, accepted) => {
  await using issuer = await start();
  const proved = issuer.prove(await issuer.token({}, { typ }));
  if (accepted) expect(await proved).toMatchObject({ subject: "ada" });
  else await expect(proved).rejects.toMatchObject(refused("its typ is neither at+jwt nor JWT"));
});

test("ID tokens are accepted where the issuer allows them", async () => {
  await using issuer = await start({ allowIdTokens: true });
  expect(await issuer.proves({ nonce: "n", at_hash: "h", token_use: "id" })).toMatchObject({ subject: "ada" });
});

test("a role map gives the roles of known values only", async () => {
  await using issuer = await start({ roleMap: { "group-1": "clerk", "group-2": "clerk" } });
  expect(await issuer.proves({ role: ["group-1", "group-2", "manager", "toString"] })).toMatchObject({
    roles: ["clerk"],
  });
});

describe("the audience", () => {
  const address = "https://desk.example/agents/agt_1";
  const keyless = { agentId: "agt_1", alone: true };

  test.each([
    ["patchbay", [true, true], [false, false]],
    [address, [false, true], [true, true]],
    [`${address}/mcp`, [false, true], [true, true]],
    [`${address}2`, [false, false], [false, false]],
    [`${address}/`, [false, false], [false, false]],
    ["https://evil.example/agents/agt_1", [false, false], [false, false]],
  ])("%s, with a key and without: %j where one is set, else %j", async (aud, configured, byDefault) => {
    await using issuer = await startIssuer();
    const token = await issuer.token({ aud });
    const found = [];
    for (const audience of [{ audience: "patchbay" }, {}]) {
      const deps = { clock: clock(), log: silentLog, publicUrl: "https://desk.example" };
      const prove = createCallerProof({ issuer: issuer.url, ...audience }, deps);
      const isAccepted = (of: typeof OF) =>
        prove(token, of).then(
          () => true,
          () => false,
        );
      found.push([await isAccepted(OF), await isAccepted(keyless)]);
    }
    expect(found).toEqual([configured, byDefault]);
  });

  test.each([
    [{ scope: "read patchbay" }, undefined],
    [{ scp: "patchbay" }, undefined],
    [{ scp: ["x", "patchbay"] }, undefined],
    [{ scope: "patchbay.read" }, "patchbay"],
    [{}, "patchbay"],
  ])("a token without a key and with %j lacks the scope %s", async (claims, lacks) => {
    await using issuer = await startIssuer();
    const settings = { issuer: issuer.url, audience: issuer.audience, scope: "patchbay" };
    const prove = createCallerProof(settings, { clock: clock(), log: silentLog });
    const token = await issuer.token(claims);
    expect((await prove(token, keyless)).lacks).toBe(lacks);
    expect(await prove(token, OF)).not.toHaveProperty("lacks");
  });
});
