import type { FunctionSet } from "@patchbay/protocol/console";
import { Link } from "@tanstack/react-router";
import { connectSnippetsOf } from "../../format/snippets.ts";
import { useSession } from "../../state/session.ts";
import { Command } from "../../ui/code.tsx";
import { Icon } from "../../ui/icon.tsx";
import { exampleQuestions } from "./example-questions.ts";

/** What stands where no query was asked yet: some to begin with. */
export function Start({
  set,
  role,
  onPick,
}: {
  set: FunctionSet | undefined;
  role: string;
  /** Undefined for whoever may not ask. */
  onPick: ((query: string) => void) | undefined;
}) {
  const questions = set && onPick ? exampleQuestions(set.functions, role || (set.defaultRole ?? "")) : [];
  return (
    <div className="mx-auto grid w-full max-w-2xl gap-4 py-8 sm:py-14">
      <div className="text-center">
        <p className="text-lg font-semibold">Ask the agent</p>
        <p className="text-muted mt-1 text-pretty">
          Queries run for real: through the same checks and on the same functions as those of your API keys.
        </p>
      </div>
      {questions.length > 0 && (
        <ul aria-label="Example queries" className="grid gap-2 sm:grid-cols-2">
          {questions.map((question) => (
            <li key={question} className="min-w-0">
              <button
                type="button"
                onClick={() => onPick?.(question)}
                className="border-line bg-surface hover:border-edge shadow-card flex h-full w-full items-center justify-between gap-3 rounded-lg border px-3 py-2.5 text-left text-sm transition-colors"
              >
                <span className="min-w-0">{question}</span>
                <Icon name="right" className="text-faint size-3.5" />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Said above the conversation while queries would find no functions. */
export function NoRuntime({ agentId }: { agentId: string }) {
  const { baseUrl, local } = useSession();
  return (
    <section
      aria-label="No runtime is connected"
      className="border-line bg-surface mb-4 grid min-w-0 gap-2 rounded-lg border p-3"
    >
      <p className="flex items-start gap-2 text-sm">
        <Icon name="alert" className="text-warn mt-0.5 size-4" />
        <span className="min-w-0">
          <span className="font-medium">No runtime is connected.</span> Until one is, queries are answered with “Agent
          session not found”.{" "}
          {local ? "Start the functions beside this service:" : "Start one where your functions are:"}
        </span>
      </p>
      <Command text={connectSnippetsOf({ baseUrl, agentId }).cli} />
      <p className="text-muted text-xs">
        Runtime keys are made under{" "}
        <Link
          to="/agents/$agentId/keys"
          params={{ agentId }}
          search={{ kind: "runtime" }}
          className="text-accent underline underline-offset-2"
        >
          Keys
        </Link>
        .
      </p>
    </section>
  );
}
