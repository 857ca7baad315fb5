import type { RunTrace } from "@patchbay/protocol/console";
import { Link } from "@tanstack/react-router";
import { countOf } from "../../format/words.ts";
import { Card } from "../../ui/card.tsx";
import { Icon } from "../../ui/icon.tsx";

/** Which functions the run's role was shown, and which were kept from it. */
export function RunShown({ run }: { run: RunTrace }) {
  const { visible, hidden, role, agentId } = run;
  const who = role === null ? "a query without a role" : `role “${role}”`;
  const called = new Set(run.spans.filter(({ kind }) => kind === "call").map(({ name }) => name));
  return (
    <Card
      title="What the role was shown"
      description={
        visible.length + hidden.length === 0
          ? "The function set of this run is not known: it ended before a runtime was found, or the set is no longer kept."
          : `Of ${countOf(visible.length + hidden.length, "function")}, ${who} sees ${visible.length}.`
      }
      actions={
        <Link
          to="/agents/$agentId/access"
          params={{ agentId }}
          className="text-accent text-sm underline underline-offset-2"
        >
          Access matrix
        </Link>
      }
    >
      <div className="grid gap-4">
        <Names
          title={`Shown (${visible.length})`}
          names={visible}
          none="None: the model could only answer by itself."
          agentId={agentId}
          called={called}
        />
        <Names
          title={`Kept from it (${hidden.length})`}
          names={hidden}
          none="None."
          agentId={agentId}
          called={called}
          kept
        />
      </div>
    </Card>
  );
}

interface NamesProps {
  title: string;
  names: readonly string[];
  none: string;
  agentId: string;
  called: ReadonlySet<string>;
  kept?: boolean;
}

function Names({ title, names, none, agentId, called, kept = false }: NamesProps) {
  return (
    <section className="min-w-0">
      <h3 className="text-muted mb-1.5 text-xs font-medium">{title}</h3>
      {names.length === 0 ? (
        <p className="text-faint text-sm">{none}</p>
      ) : (
        <ul className="flex flex-wrap gap-1.5">
          {names.map((name) => (
            <li key={name} className="min-w-0">
              <Link
                to="/agents/$agentId/functions/$functionName"
                params={{ agentId, functionName: name }}
                className={`inline-flex h-6 max-w-full items-center gap-1 rounded border px-1.5 font-mono text-xs ${
                  kept ? "border-line text-muted border-dashed" : "border-line bg-sunken text-text hover:bg-hover"
                }`}
              >
                {kept && <Icon name="denied" className="text-faint size-3" />}
                {called.has(name) && !kept && <Icon name="check" className="text-ok size-3" />}
                <span className="truncate">{name}</span>
                {called.has(name) && <span className="sr-only"> (called)</span>}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
