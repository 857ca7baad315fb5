import { useQuery } from "@tanstack/react-query";
import { callsOf, recordedTranscript, type Transcript } from "../conversation/exchange.ts";
import { callDifferences } from "./call-differences.ts";
import { roleOf, type ShownExchange } from "./lane.ts";

type Shown = ShownExchange | undefined;

/** Compares two exchanges once both have ended: before that, each call would count as missing on the other side. */
export function useDifferences([a, b]: readonly Shown[]): Map<string, string> | undefined {
  const first = useEnded(a, b);
  const second = useEnded(b, a);
  if (!a || !b || !first || !second) return undefined;
  const name = (letter: string, role: string) => (roleOf(a) === roleOf(b) ? letter : `as ${role || "no role"}`);
  return callDifferences(
    { calls: callsOf(first), name: name("A", roleOf(a)) },
    { calls: callsOf(second), name: name("B", roleOf(b)) },
  );
}

/** The transcript of an exchange that has ended; that of a stored one is fetched if there is another to compare it with. */
function useEnded(shown: Shown, other: Shown): Transcript | undefined {
  const run = shown?.past?.run;
  const log = useQuery({
    ...recordedTranscript({ agentId: run?.agentId ?? "", runId: run?.runId ?? "" }),
    enabled: run !== undefined && run.finishedAt !== null && other !== undefined,
  });
  const transcript = shown?.live?.transcript ?? log.data;
  return transcript?.end && transcript;
}
