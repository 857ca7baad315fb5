import { useQuery } from "@tanstack/react-query";
import { resource } from "../../api/api.ts";
import { roleOf, runIdOf, type ShownExchange } from "./lane.ts";

interface LaneHeadProps {
  agentId: string;
  letter: string;
  shown: ShownExchange | undefined;
  role: string | undefined;
}

/** An answer's head in a comparison: its lane, its role and what else it was sent with. */
export function LaneHead({ agentId, letter, shown, role }: LaneHeadProps) {
  const name = shown ? roleOf(shown) : role;
  const { model, instructions, context } = useSent(agentId, shown);
  return (
    <h3 className="text-muted mb-2 flex flex-wrap items-center gap-x-2 gap-y-1 text-xs font-medium">
      <span className="bg-accent-soft text-accent inline-flex size-5 items-center justify-center rounded">
        {letter}
      </span>
      {name ? <code className="text-text max-w-full truncate font-mono">{name}</code> : <span>no role</span>}
      {model !== undefined && <code className="max-w-full truncate font-mono">{model}</code>}
      {instructions && <span>own instructions</span>}
      {context && <span>with context</span>}
    </h3>
  );
}

/** What an exchange was sent with: from its body, or after a reload from its run. */
function useSent(agentId: string, shown: ShownExchange | undefined) {
  const body = shown?.live?.sent;
  const runId = shown && runIdOf(shown);
  const run = useQuery({
    ...resource("/agents/:agent_id/runs/:run_id", { params: { agentId, runId: runId ?? "" } }),
    enabled: body === undefined && runId !== undefined,
  }).data;
  if (body) {
    const { llmConfig, instructions, contextJson = "{}" } = body;
    const model = llmConfig?.model ?? llmConfig?.provider;
    return { model, instructions: instructions !== undefined, context: contextJson !== "{}" };
  }
  return {
    model: run?.model || undefined,
    instructions: typeof run?.instructions === "string",
    context: Object.keys(run?.context ?? {}).length > 0,
  };
}
