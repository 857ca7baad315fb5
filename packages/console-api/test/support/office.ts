import type { ServiceScope } from "@patchbay/protocol/console";
import { openConsole } from "./open-console.ts";

/** A console with an agent, and programs with service tokens. */
export async function openOffice() {
  const console = await openConsole();
  const { agentId } = await console.admin.createAgent("Desk", { orgId: console.orgId });
  const program = console.browser();
  return {
    ...console,
    agentId,
    async token(...scopes: ServiceScope[]) {
      const { secret, token } = await console.admin.serviceTokens.create({ orgId: console.orgId, scopes, label: "ci" });
      const ask = (method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
        program.ask(method, `/api${path}`, {
          ...(body && { body }),
          headers: { "Sec-Fetch-Site": "none", Authorization: `Bearer ${secret}`, ...headers },
        });
      return { ask, secret, tokenId: token.tokenId };
    },
  };
}
