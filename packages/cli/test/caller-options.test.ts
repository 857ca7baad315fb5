import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startIssuer } from "@patchbay/test-support/issuer";
import { runCommand, startCommand, temporaryFolder } from "./support/command.ts";

let issuer: Awaited<ReturnType<typeof startIssuer>>;
beforeAll(async () => void (issuer = await startIssuer()));
afterAll(async () => await issuer?.[Symbol.asyncDispose]());

/** `serve` with these options, and an agent that needs no key. `ask` answers with the status and the error message. */
async function start(...options: string[]) {
  const folder = await temporaryFolder();
  const issuing = ["--caller-issuer", issuer.url, "--caller-audience", issuer.audience];
  const serve = startCommand(["serve", "--port", "0", "--data-dir", folder.path, "--json", ...issuing, ...options], {
    env: { PATCHBAY_PROVIDER: "offline" },
  });
  const { baseUrl } = JSON.parse(await serve.seen(/^\{"ready".*\}$/m)) as { baseUrl: string };
  const admin = async (...args: string[]) =>
    JSON.parse((await runCommand([...args, "--data-dir", folder.path, "--json"])).stdout) as Record<string, string>;
  const { agentId = "" } = await admin("agents", "create", "Desk");
  const updated = await admin(
    "agents",
    "update",
    agentId,
    "--callers",
    "keyless",
    "--caller-claims",
    "email,department",
  );
  return {
    updated,
    async ask(claims: object, headers: Record<string, string> = {}, more: object = {}) {
      const authorization = `Bearer ${await issuer.token({ scope: "desk", ...claims })}`;
      const response = await fetch(`${baseUrl}/agents/${agentId}/query-stream`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization, ...headers },
        body: JSON.stringify({ query: "hi", ...more }),
      });
      return `${response.status} ${await response.text()}`;
    },
    async [Symbol.asyncDispose]() {
      await serve[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const soon = (seconds: number): number => Math.floor(Date.now() / 1_000) + seconds;

describe("serve --caller-...", () => {
  test("reads roles, their map, the scope and the longest life from its options", async () => {
    const claim = ["--caller-role-claim", "/realm/groups", "--caller-role-map", "g1=clerk,urn:a=b=manager"];
    await using served = await start(...claim, "--caller-scope", "desk", "--caller-max-age", "600");
    const clerk = { realm: { groups: ["g1", "g9"] } };

    expect(served.updated).toMatchObject({
      settings: { callers: "keyless", callerClaims: ["email", "department"] },
    });
    expect(await served.ask(clerk)).toMatch(/^200 /);
    expect(await served.ask(clerk, { "x-patchbay-role": "clerk" })).toMatch(/^200 /);
    expect(await served.ask(clerk, { "x-patchbay-role": "manager" })).toMatch(/^403 /);
    expect(await served.ask({ realm: { groups: "urn:a=b" } }, { "x-patchbay-role": "manager" })).toMatch(/^200 /);
    expect(await served.ask({ ...clerk, scope: "other" })).toMatch(/^403 .*lacks the scope desk/);
    expect(await served.ask({ ...clerk, exp: soon(900) })).toMatch(/^401 .*valid for more than 600 s/);
    expect(await served.ask({ ...clerk, nonce: "n" })).toMatch(/^401 .*it is an ID token/);
  });

  test("accepts ID tokens with --caller-id-tokens, keys of another address, and proves members of the context", async () => {
    const keys = ["--caller-jwks-url", `${issuer.url}/keys`, "--caller-keys-max-age", "60"];
    await using served = await start("--caller-id-tokens", "--caller-context-claims", "sub=userId", ...keys);

    expect(await served.ask({ nonce: "n" })).toMatch(/^200 /);
    const contextJson = JSON.stringify({ userId: "eve" });
    expect(await served.ask({ nonce: "n" }, {}, { contextJson })).toMatch(/^400 .*contextJson\.userId/);
  });

  test.each([
    ["--caller-max-age", "59", /--caller-max-age/],
    ["--caller-max-age", "604801", /--caller-max-age/],
    ["--caller-keys-max-age", "0", /--caller-keys-max-age/],
    ["--caller-keys-max-age", "86401", /--caller-keys-max-age/],
    ["--caller-role-map", "manager", /--caller-role-map manager cannot be used: expected VALUE=ROLE/],
    ["--caller-role-map", "g1=", /--caller-role-map g1= cannot be used/],
    ["--caller-scope", 'a"b', /cannot be the scope of callers' tokens/],
    ["--caller-context-claims", "sub,email=sub", /Two claims cannot become one member of the context: sub/],
    ["--caller-jwks-url", "http://keys.example", /an https:\/\/ address is needed/],
  ])("refuses %s %s", async (option, value, why) => {
    const given = ["serve", "--port", "0", "--caller-issuer", "https://id.example", "--caller-audience", "a"];
    await using folder = await temporaryFolder();

    const { code, stderr } = await runCommand([...given, "--data-dir", folder.path, option, value]);

    expect(code).not.toBe(0);
    expect(stderr).toMatch(why);
  });
});
