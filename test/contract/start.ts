import { startStandIn, type Script, type Wire } from "../support/providers/index.ts";
import { startSystem, type SystemOptions } from "../support/system.ts";
import { createDesk } from "./desk.ts";

export interface DeskOptions extends SystemOptions {
  wire?: Wire;
  desk?: ReturnType<typeof createDesk>;
  /** False leaves the desk's functions unconnected. */
  connected?: boolean;
}

/** The whole service over a provider that answers as `script` says, with a desk of functions connected. */
export async function startDesk(script: Script, options: DeskOptions = {}) {
  const { wire = "openai-responses", desk = createDesk(), connected = true, ...rest } = options;
  const standIn = await startStandIn(wire, script);
  const system = await startSystem({
    providers: standIn.config,
    ...(connected && { service: desk.service }),
    ...rest,
  });
  return {
    ...system,
    desk,
    standIn,
    /** What the model was sent, in order. */
    sent: () => standIn.requests.map(({ summary }) => summary),
    /** The path of endpoint 1 or 2 of the system's agent. */
    path: (endpoint: "query" | "query-stream" = "query") => `/agents/${system.agentId}/${endpoint}`,
    async [Symbol.asyncDispose]() {
      await system[Symbol.asyncDispose]();
      await standIn.close();
    },
  };
}

export type Desk = Awaited<ReturnType<typeof startDesk>>;

/** How a run fails at endpoints 1, 2 and 3. */
export async function failuresOf(system: Desk, query = "hi", body: object = {}) {
  const answer = await system.query(query, body);
  const stream = await system.stream(query, body);
  const local = await system.local(query, body);
  const [error, localError] = [stream.events.at(-1)?.data, local.events.at(-1)?.data];
  return [
    { success: answer.success, errorMessage: answer.errorMessage, code: answer.code },
    { type: error?.type, errorMessage: error?.["errorMessage"], code: error?.["code"] },
    { type: localError?.type, errorMessage: localError?.data["message"], code: localError?.data["code"] },
  ];
}

/** What `failuresOf` gives for a run that fails in the same way at all three endpoints. */
export function failsWith(code: string, errorMessage: string) {
  return [
    { success: false, errorMessage, code },
    { type: "error", errorMessage, code },
    { type: "error", errorMessage, code },
  ];
}
