import { expect, test } from "vitest";
import { createAdmin } from "../../src/accounts/admin.ts";
import { createAuthenticator } from "../../src/accounts/authenticator.ts";
import { generateSecret } from "../../src/accounts/secret.ts";
import type { Credential } from "@patchbay/engine/ports/store/stores";
import { openStore } from "@patchbay/store/open";
import { HandClock } from "../../../store/test/contract/world.ts";

async function openDesk() {
  const clock = new HandClock();
  clock.time = Date.now();
  const store = await openStore("sqlite::memory:", { clock });
  const admin = createAdmin({ store });
  const agent = await admin.createAgent("Clerk");
  const authenticate = createAuthenticator({ accounts: store.accounts, clock });
  return { clock, store, admin, agent, authenticate, [Symbol.asyncDispose]: () => store.close() };
}

test("each kind of secret works for its own purpose only", async () => {
  await using desk = await openDesk();
  const { agentId, apiKey } = desk.agent;
  const { runtimeKey } = await desk.admin.createRuntimeKey({ agentId });
  const { accessToken } = await desk.admin.createToken({ agentId });

  const opened: [string, boolean][] = [];
  for (const kind of ["api", "runtime", "access"] as const)
    for (const secret of [apiKey, runtimeKey, accessToken])
      opened.push([kind, (await desk.authenticate(kind, secret)) !== undefined]);

  expect(opened.map(([, yes]) => yes)).toEqual([true, false, false, false, true, false, false, false, true]);
  expect(await desk.authenticate("api", apiKey)).toMatchObject({ agentId, tier: "sandbox", kind: "api" });
});

test("an unknown key is rejected, and a malformed one without a database query", async () => {
  await using desk = await openDesk();
  let asked = 0;
  const accounts = {
    findCredential: async (): Promise<Credential | undefined> => {
      asked++;
      return undefined;
    },
    touchCredential: async () => {},
  };
  const authenticate = createAuthenticator({ accounts, clock: desk.clock });

  for (const secret of ["", "service_live_", `${desk.agent.apiKey}x`, desk.agent.apiKey.toUpperCase(), "\0"])
    expect(await authenticate("api", secret)).toBeUndefined();
  expect(asked).toBe(0);
  expect(await authenticate("api", generateSecret("api"))).toBeUndefined();
  expect(asked).toBe(1);
});

test("a revoked key is rejected from the next request on", async () => {
  await using desk = await openDesk();
  expect(await desk.authenticate("api", desk.agent.apiKey)).toBeDefined();

  await desk.admin.credentials.revoke("api", desk.agent.keyId);

  expect(await desk.authenticate("api", desk.agent.apiKey)).toBeUndefined();
});

test("an access token works for 12 hours", async () => {
  await using desk = await openDesk();
  const { accessToken } = await desk.admin.createToken({ agentId: desk.agent.agentId });

  desk.clock.advance(12 * 3_600_000 - 60_000);
  expect(await desk.authenticate("access", accessToken)).toBeDefined();
  desk.clock.advance(120_000);

  expect(await desk.authenticate("access", accessToken)).toBeUndefined();
});

test("the last use is written at most once a minute, and its failure does not affect requests", async () => {
  await using desk = await openDesk();
  const { clock } = desk;
  const touched: number[] = [];
  let lastUsedAt: number | undefined;
  const credential = await desk.authenticate("api", desk.agent.apiKey);
  if (!credential) throw new Error("the key opens nothing");
  const { lastUsedAt: _, ...unused } = credential;
  const authenticate = createAuthenticator({
    clock,
    accounts: {
      findCredential: async () => ({ ...unused, ...(lastUsedAt !== undefined && { lastUsedAt }) }),
      touchCredential: (): Promise<void> => {
        touched.push(clock.now());
        lastUsedAt = clock.now();
        return Promise.reject(new Error("the disk is full"));
      },
    },
  });
  const start = clock.now();

  for (let seconds = 0; seconds <= 120; seconds += 20) {
    expect(await authenticate("api", desk.agent.apiKey)).toBeDefined();
    clock.advance(20_000);
  }

  expect(touched).toEqual([start, start + 60_000, start + 120_000]);
});
