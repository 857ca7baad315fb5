import { type Script, startStandIn, type Wire } from "@patchbay/test-support/providers";
import { startSystem, type SystemOptions } from "@patchbay/test-support/system";
import { createTestService } from "./test-service.ts";
import type { Store } from "@patchbay/control-plane/admin";
import type { Log, LogFields } from "@patchbay/control-plane";

export interface ContractOptions extends SystemOptions {
  wire?: Wire;
  desk?: ReturnType<typeof createTestService>;
  /** False leaves the desk's functions unconnected. */
  connected?: boolean;
}

/** Starts a control plane with a scripted model provider, and connects the functions of a test service. */
export async function startContractSystem(script: Script, options: ContractOptions = {}) {
  const { wire = "openai-responses", desk = createTestService(), connected = true, ...rest } = options;
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
    /** Requests that the model received, in order. */
    sent: () => standIn.requests.map(({ summary }) => summary),
    /** The path of endpoint 1 or 2 of the system's agent. */
    path: (endpoint: "query" | "query-stream" = "query") => `/agents/${system.agentId}/${endpoint}`,
    async [Symbol.asyncDispose]() {
      await system[Symbol.asyncDispose]();
      await standIn.close();
    },
  };
}

export type ContractSystem = Awaited<ReturnType<typeof startContractSystem>>;

/** The failure of a run, as endpoints 1, 2 and 3 report it. */
export async function failuresOf(system: ContractSystem, query = "hi", body: object = {}) {
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

/** The value of `failuresOf` for a run that fails with this code and message at all three endpoints. */
export function failsWith(code: string, errorMessage: string) {
  return [
    { success: false, errorMessage, code },
    { type: "error", errorMessage, code },
    { type: "error", errorMessage, code },
  ];
}

/** Makes methods of a running replica's store fail with `error` until disposed. */
export function breakStore<Part extends "runs" | "accounts" | "threads">(
  store: Store,
  part: Part,
  methods: readonly (keyof Store[Part])[],
  error: Error,
): Disposable {
  const whole = { ...store[part] };
  for (const method of methods) Object.assign(store[part], { [method]: () => Promise.reject(error) });
  return { [Symbol.dispose]: () => void Object.assign(store[part], whole) };
}

/** A log that passes its warnings to `onWarning` and drops the rest. */
export function listeningLog(onWarning: (message: string, fields: LogFields) => void): Log {
  const drop = () => {};
  const log: Log = {
    debug: drop,
    info: drop,
    warn: (message, fields = {}) => onWarning(message, fields),
    error: drop,
    child: () => log,
  };
  return log;
}
