import { FRAMES_VERSION, type JudgeFrame, LIMITS, type Manifest, type RuntimeFrame } from "@patchbay/protocol";
import { judge } from "../access/judge.ts";
import type { Service } from "../service.ts";
import type { ControlPlaneConnection } from "./connection.ts";
import { encodeFrame } from "./frames.ts";

/** The first frame of a shadow runtime. Throws a `TypeError` for a function set that is too large. */
export function shadowFrame({ manifest }: { manifest: Manifest }, of: { instanceId: string; sdk: string }): string {
  const text = encodeFrame({ type: "shadow", version: FRAMES_VERSION, ...of, manifest });
  if (text !== undefined) return text;
  throw new TypeError(
    `connect: the function set exceeds the limit of ${LIMITS.frameBytes} bytes. Shorten schemas or descriptions.`,
  );
}

/** Answers what the checks of the service decide on a call. No handler runs. */
export async function answerJudge(
  service: Service,
  { id, function: functionName, role, context, arguments: given }: JudgeFrame,
  connection: ControlPlaneConnection,
): Promise<void> {
  const verdict = await judge(service, { functionName, role, context, arguments: given });
  connection.send(JSON.stringify({ type: "judged", id, ...verdict } satisfies RuntimeFrame));
}
