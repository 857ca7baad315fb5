import type { RunEffects } from "@patchbay/protocol/console";
import { type ReactNode, useState } from "react";
import { api } from "../../api/api.ts";
import { countOf } from "../../format/numbers.ts";
import { oneLine } from "../../format/one-line.ts";
import { FormDialog } from "../../ui/form/dialog.tsx";
import { Badge, Effect, Status } from "../../ui/values.tsx";

/** Runs whose calls the API reads in one request. */
const AT_ONCE = 100;

/** These runs' calls that wrote or destroyed. */
export async function effectsOf(agentId: string, runIds: readonly string[]): Promise<RunEffects> {
  const all: RunEffects = { calls: [], omitted: 0 };
  for (let at = 0; at < runIds.length; at += AT_ONCE) {
    const query = { runIds: runIds.slice(at, at + AT_ONCE).join(",") };
    const { calls, omitted } = await api.get("/agents/:agent_id/run-effects", { params: { agentId }, query });
    all.calls.push(...calls);
    all.omitted += omitted;
  }
  return all;
}

interface Asked {
  effects: RunEffects;
  settle: (agreed: boolean) => void;
}

/**
 * Asks before runs are run again that called functions which write or destroy. `askFirst` resolves with true at once for runs that only
 * read, and otherwise with the member's decision in `dialog`, which the page renders.
 */
export function useAskFirst(agentId: string): {
  askFirst: (runIds: readonly string[]) => Promise<boolean>;
  dialog: ReactNode;
} {
  const [asked, setAsked] = useState<Asked>();
  async function askFirst(runIds: readonly string[]): Promise<boolean> {
    if (runIds.length === 0) return true;
    const effects = await effectsOf(agentId, runIds);
    if (effects.calls.length === 0) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const settle = (agreed: boolean): void => {
      setAsked(undefined);
      resolve(agreed);
    };
    setAsked({ effects, settle });
    return promise;
  }
  const dialog = asked && (
    <FormDialog
      title="Run it again?"
      description={WARNING}
      submit="Run again"
      look={lookOf(asked.effects)}
      send={async () => undefined}
      onSent={() => asked.settle(true)}
      onClose={() => asked.settle(false)}
    >
      <EffectList effects={asked.effects} />
    </FormDialog>
  );
  return { askFirst, dialog };
}

const WARNING = "It made these calls, which change data or cannot be undone. They may be made a second time.";

/** The look for the button that makes calls like these again. */
export const lookOf = ({ calls }: RunEffects): "danger" | "primary" =>
  calls.some(({ effect }) => effect === "destructive") ? "danger" : "primary";

/** Calls with their effects, their arguments in short, and their outcomes. */
export const EffectList = ({ effects: { calls, omitted } }: { effects: RunEffects }) => (
  <div className="grid min-w-0 gap-2">
    <ul aria-label="Calls that write or destroy" className="grid max-h-72 min-w-0 gap-2 overflow-y-auto">
      {calls.map(({ callId, functionName, effect, arguments: given, state }) => (
        <li key={callId} className="border-line grid min-w-0 gap-1 border-b pb-2 last:border-b-0">
          <span className="flex flex-wrap items-center gap-2">
            <code className="font-mono text-sm font-medium break-all">{functionName}</code>
            {effect === null ? (
              <Badge tone="warn" icon="alert">
                effect unknown
              </Badge>
            ) : (
              <Effect effect={effect} />
            )}
            <Status state={state} />
          </span>
          <span className="text-muted truncate font-mono text-xs" title={oneLine(given)}>
            {oneLine(given)}
          </span>
        </li>
      ))}
    </ul>
    {omitted > 0 && <p className="text-muted text-sm">and {countOf(omitted, "more call")}</p>}
  </div>
);
