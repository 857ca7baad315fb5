import { z } from "zod";

const count = (preset: number, description: string) =>
  z.int().min(1).max(1_000_000_000).default(preset).describe(description);

/**
 * Limits that a control plane's operator may change with `serve --limits FILE`. Only what exceeds a limit is refused.
 * `Bytes` are UTF-8 bytes.
 */
export const OperatorLimits = z.strictObject({
  callsPerTurn: count(32, "Function calls in one model turn. Calls beyond it are refused with `call_limit`."),
  callsPerRun: count(256, "Function calls in one run. Calls beyond it are refused with `call_limit`."),
  repeatedCalls: count(
    3,
    "Equal calls to one function in one run, for functions that write. Calls beyond it are refused with `repeated_call`.",
  ),
  repeatedReadCalls: count(
    10,
    'Equal calls to one function in one run, for functions with `effect: "read"`. Calls beyond it are refused with `repeated_call`.',
  ),
  runResultBytes: count(
    8_388_608,
    "Function results that one run stores and answers. From the first result beyond it, results are refused with `result_too_large`.",
  ),
  rolesPerService: count(
    200,
    "Roles that a service and its functions name together. An agent's connected services share it.",
  ),
  rolesPerFunction: count(100, "Roles in one function's list."),
  manifestBytes: count(
    524_288,
    "Size of the function set that a runtime offers. An agent's connected services share it. Frames hold at most 1 MiB.",
  ),
  connectionsPerKey: count(
    64,
    "Open connections with one runtime key to one replica. The next one is refused at the handshake.",
  ),
  hellosPerMinute: count(
    200,
    "Connections per minute that runtimes with one key open to one replica. The next one is refused at the handshake.",
  ),
  functionSetsPerAgent: count(50, "Stored function sets per agent. Unreferenced ones are deleted first."),
  framesPerSecond: count(
    200,
    "Frames a second that one runtime connection may send without being asked for them. Frames beyond it are dropped, and after 10 s the connection is closed.",
  ),
  frameBurst: count(
    1_000,
    "Frames that one runtime connection may send at once, unasked, before `framesPerSecond` applies.",
  ),
  streamsPerKey: count(
    1_000,
    "One API key's open event streams on a replica. Beyond it resumes and followers answer 429, and a query in the sandbox waits for a slot.",
  ),
  streamsPerRun: count(100, "One API key's open event streams on the same run, on a replica. Further ones answer 429."),
  streamsPerOrganisation: count(
    5_000,
    "One organisation's open event streams on a replica. Beyond it resumes and followers answer 429, and a query in the sandbox waits for a slot.",
  ),
  runsPerOrganisation: count(
    256,
    "One organisation's runs that a replica works on at the same time. Further ones wait in order.",
  ),
});
/** A value for each operator limit. */
export type OperatorLimits = z.infer<typeof OperatorLimits>;

/** The default operator limits. */
export const DEFAULT_LIMITS: Readonly<OperatorLimits> = OperatorLimits.parse({});
