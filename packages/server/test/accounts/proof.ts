import type { JWTPayload } from "jose";
import { expect } from "vitest";
import { startIssuer } from "@patchbay/test-support/issuer";
import { type CallerIssuer, createCallerProof } from "../../src/accounts/callers.ts";
import { silentLog } from "@patchbay/kit";

export const clock = (offsetMs = () => 0) => ({
  now: () => Date.now() + offsetMs(),
  sleep: () => Promise.reject(new Error("not used here")),
});

export const OF = { agentId: "agt_1" };

/** An issuer and the proof that trusts it. `later` moves the clock of the proof. */
export async function start(settings: Partial<CallerIssuer> = {}) {
  const issuer = await startIssuer();
  let offset = 0;
  const proof = createCallerProof(
    { issuer: issuer.url, audience: issuer.audience, roleClaim: "role", ...settings },
    { clock: clock(() => offset), log: silentLog },
  );
  const prove = (token: string) => proof(token, OF);
  return {
    ...issuer,
    prove,
    later: (ms: number) => void (offset += ms),
    proves: async (claims: JWTPayload) => await prove(await issuer.token(claims)),
  };
}

export const refused = (why: string) => ({ code: "authentication_failed", message: expect.stringContaining(why) });
export const soon = () => Math.floor(Date.now() / 1_000);
