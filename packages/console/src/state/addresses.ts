/** Addresses in an agent's pages, for links and `navigate`: `<Link {...toRun(agentId, runId)} />`. */
export const toPage = <const Page extends string>(agentId: string, page: Page) =>
  ({ to: `/agents/$agentId/${page}`, params: { agentId } }) as const;

export const toAgent = (agentId: string) => ({ to: "/agents/$agentId", params: { agentId } }) as const;

export const toRun = (agentId: string, runId: string) =>
  ({ to: "/agents/$agentId/runs/$runId", params: { agentId, runId } }) as const;

export const toThread = (agentId: string, threadId: string) =>
  ({ to: "/agents/$agentId/threads/$threadId", params: { agentId, threadId } }) as const;

export const toFunction = (agentId: string, functionName: string) =>
  ({ to: "/agents/$agentId/functions/$functionName", params: { agentId, functionName } }) as const;
