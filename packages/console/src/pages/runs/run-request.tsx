import type { RunTrace } from "@patchbay/protocol/console";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { countOf } from "../../format/numbers.ts";
import { toFunction, toPage } from "../../state/addresses.ts";
import { TextLink } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Card, Facts, Section } from "../../ui/page.tsx";
import { MODEL_SETTINGS } from "./model-settings.tsx";

/** The functions that the run's role could see, and the hidden ones. */
export function RunFunctions({ run }: { run: RunTrace }) {
  const { visible, hidden, role, agentId } = run;
  const caller = role === null ? "queries without a role see" : `role “${role}” sees`;
  const called = new Set(run.spans.filter(({ kind }) => kind === "call").map(({ name }) => name));
  return (
    <Card
      title="Visible functions"
      description={
        visible.length + hidden.length === 0
          ? "Function set unknown: the run ended before a runtime was found, or the set was deleted"
          : `Of ${countOf(visible.length + hidden.length, "function")}, ${caller} ${visible.length}`
      }
      actions={
        <TextLink {...toPage(agentId, "access")} className="text-sm">
          Open access matrix
        </TextLink>
      }
    >
      <div className="grid gap-4">
        <Names
          title={`Visible (${visible.length})`}
          names={visible}
          none="None: the model answered without functions"
          agentId={agentId}
          called={called}
        />
        <Names
          title={`Hidden (${hidden.length})`}
          names={hidden}
          none="None"
          agentId={agentId}
          called={called}
          hidden
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
  hidden?: boolean;
}

const Names = ({ title, names, none, agentId, called, hidden = false }: NamesProps) => (
  <Section small title={title}>
    {names.length === 0 ? (
      <p className="text-faint text-sm">{none}</p>
    ) : (
      <ul className="flex flex-wrap gap-1.5">
        {names.map((name) => (
          <li key={name} className="min-w-0">
            <Link
              {...toFunction(agentId, name)}
              className={`inline-flex h-6 max-w-full items-center gap-1 rounded border px-1.5 font-mono text-xs ${
                hidden ? "border-line text-muted border-dashed" : "border-line bg-sunken text-text hover:bg-hover"
              }`}
            >
              {hidden && <Icon name="denied" className="text-faint size-3" />}
              {called.has(name) && !hidden && <Icon name="check" className="text-ok size-3" />}
              <span className="truncate">{name}</span>
              {called.has(name) && <span className="sr-only"> (called)</span>}
            </Link>
          </li>
        ))}
      </ul>
    )}
  </Section>
);

/** The run's model settings, fixed at its start from the query, the agent and the defaults. */
export const RunSettings = ({ run }: { run: RunTrace }) => (
  <Card title="Model settings" description="From the query, the agent and the defaults at the run's start">
    <Facts
      items={[
        ["Provider", run.provider || "none"],
        ["Model", <code className="font-mono text-xs break-all">{run.model || "none"}</code>],
        ...MODEL_SETTINGS.map(({ name, show }): [string, ReactNode] => [name, show(run)]),
      ]}
    />
  </Card>
);
