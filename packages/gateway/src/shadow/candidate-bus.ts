import { timeoutSignal } from "@patchbay/kit/time";
import { isJsonObject, type JsonObject, type JsonValue, present } from "@patchbay/kit";
import { CallerIdentity, Judgement, servicesOf } from "@patchbay/protocol";
import { type Bus, NoResponders, RequestLost } from "@patchbay/engine/ports/bus";
import type { FunctionGateway } from "@patchbay/engine/ports/function-gateway";
import { ServiceError } from "@patchbay/engine/ports/service-error";
import { z } from "zod";
import type { ShadowConnection } from "./shadow-connection.ts";

const ANSWER_MS = 5_000;

/** Asks for a candidate's judgement of a stored call. `services`: those that the call may be for, if known. */
const JudgeRequest = z.object({
  services: z.array(z.string()).optional(),
  // An earlier version does not send them.
  runId: z.string().default(""),
  callId: z.string().default(""),
  functionName: z.string(),
  role: z.string().optional(),
  roleByDefault: z.literal(true).optional(),
  context: z.custom<JsonObject>(isJsonObject),
  caller: CallerIdentity.optional(),
  arguments: z.custom<JsonValue>((value) => value !== undefined),
});

/** Served by the replicas that a candidate with this function set is connected to. */
const subjectOf = (agentId: string, manifestHash: string): string => `candidate.${agentId}.${manifestHash}`;

/** Answers the other replicas' questions to a candidate until disposed. */
export function serveCandidate(bus: Bus, connection: ShadowConnection): Disposable {
  const { agentId, manifestHash, service } = connection.candidate;
  return bus.serve(subjectOf(agentId, manifestHash), async (body) => {
    const { services, ...call } = JudgeRequest.parse(body);
    if (services && !services.includes(service)) return {};
    const judgement = await connection.judge({ role: undefined, ...call }, timeoutSignal(ANSWER_MS));
    return present({ ...judgement }) as JsonValue;
  });
}

/** See `FunctionGateway.judge`. */
export const askCandidate =
  (bus: Bus): FunctionGateway["judge"] =>
  async (agentId, manifestHash, call, signal) => {
    const { runId, callId, functionName, role, roleByDefault, context, caller, arguments: given, manifest } = call;
    const services = manifest && servicesOf(manifest, functionName);
    const body = {
      runId,
      callId,
      functionName,
      context,
      arguments: given,
      ...present({ role, roleByDefault, caller, services }),
    };
    try {
      return Judgement.parse(
        await bus.request(subjectOf(agentId, manifestHash), body, { timeoutMs: ANSWER_MS, signal }),
      );
    } catch (error) {
      if (error instanceof RequestLost) return {};
      if (!(error instanceof NoResponders)) throw error;
      throw new ServiceError("conflict", `No candidate with the function set ${manifestHash} is connected.`);
    }
  };
