import { defineFunction, defineService } from "@patchbay/functions";
import { freePort } from "@patchbay/test-support/free-port";
import { callThenAnswer, startStandIn } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";
import { z } from "zod";
import { startIdentityProvider } from "./identity-provider.ts";

const SCOPE = "desk";

/**
 * A desk without keys, whose callers sign in at an identity provider: ada is a clerk, grace a manager, and eve has no role.
 * `handled` has the calls that ran: name, role and user.
 */
export async function startSignedInDesk() {
  const handled: unknown[][] = [];
  const functionFor = (name: string, roles: string[] | "everyone") =>
    defineFunction({
      name,
      description: `Does ${name}.`,
      input: z.object({}),
      roles,
      handler: (_input, { role, context }) => {
        handled.push([name, role, context["userId"]]);
        return `${name} was done`;
      },
    });
  const service = defineService({
    name: "desk",
    functions: [functionFor("look", "everyone"), functionFor("sell", ["clerk"]), functionFor("wipe", ["manager"])],
  });
  const provider = await startIdentityProvider({
    scope: SCOPE,
    roles: { ada: ["clerk"], grace: ["manager"], eve: [] },
  });
  const model = await startStandIn("openai-responses", callThenAnswer([{ name: "sell" }, { name: "wipe" }]));
  const port = await freePort();
  const system = await startSystem({
    service,
    providers: model.config,
    port,
    publicUrl: `http://127.0.0.1:${port}`,
    callers: { issuer: provider.url, roleClaim: "role", contextClaims: ["sub=userId"], scope: SCOPE },
  });
  await system.plane.admin.updateAgent(system.agentId, { settings: { callers: "keyless" } });
  return {
    ...system,
    provider,
    handled,
    address: `${system.url}/agents/${system.agentId}`,
    async [Symbol.asyncDispose]() {
      await system[Symbol.asyncDispose]();
      await model.close();
      await provider[Symbol.asyncDispose]();
    },
  };
}
