import { z } from "zod";

const count = (preset: number, description: string) =>
  z.int().min(1).max(1_000_000_000).default(preset).describe(description);

/**
 * Limits that the operator of a control plane may change with `serve --limits FILE`. Only what exceeds a limit is refused. `Bytes`
 * are bytes of UTF-8.
 */
export const OperatorLimits = z.strictObject({
  callsPerTurn: count(32, "Function calls of one model turn. Calls beyond it are refused with `call_limit`."),
  callsPerRun: count(256, "Function calls of one run. Calls beyond it are refused with `call_limit`."),
  repeatedCalls: count(
    3,
    "Calls of one function with equal arguments in one run, for functions that write. Calls beyond it are refused with `repeated_call`.",
  ),
  repeatedReadCalls: count(
    10,
    'Calls of one function with equal arguments in one run, for functions with `effect: "read"`. Calls beyond it are refused with `repeated_call`.',
  ),
  runResultBytes: count(
    8_388_608,
    "Function results that one run stores and answers. From the first result beyond it, results are refused with `result_too_large`.",
  ),
  rolesPerService: count(
    200,
    "Roles of a service, its own and those of its functions together. Connected services of one agent share it.",
  ),
  rolesPerFunction: count(100, "Roles in the list of one function."),
  manifestBytes: count(
    524_288,
    "Size of the function set that a runtime offers. Connected services of one agent share it. Frames hold at most 1 MiB.",
  ),
  connectionsPerKey: count(
    64,
    "Open connections of one runtime key to one replica. The next one is refused at the handshake.",
  ),
  hellosPerMinute: count(
    200,
    "Connections that the runtimes of one key open to one replica in a minute. The next one is refused at the handshake.",
  ),
  functionSetsPerAgent: count(50, "Stored function sets of an agent. Unreferenced ones are deleted first."),
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
    "Open event streams of one API key on a replica. Beyond it resumes and followers answer 429, and a query in the sandbox waits for a place.",
  ),
  streamsPerRun: count(
    100,
    "Open event streams of one API key on the same run, on a replica. Further ones answer 429.",
  ),
  streamsPerOrganisation: count(
    5_000,
    "Open event streams of one organisation on a replica. Beyond it resumes and followers answer 429, and a query in the sandbox waits for a place.",
  ),
  runsPerOrganisation: count(
    256,
    "Runs of one organisation that a replica works on at the same time. Further ones wait in order.",
  ),
});
/** A value for each of the operator's limits. */
export type OperatorLimits = z.infer<typeof OperatorLimits>;

/** The operator's limits by default. */
export const DEFAULT_LIMITS: Readonly<OperatorLimits> = OperatorLimits.parse({});
