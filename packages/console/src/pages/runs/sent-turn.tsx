import type { ModelMessage, ModelParameters, RunTrace, SentTurn } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { resource } from "../../api/api.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { classNames } from "../../ui/class-names.ts";
import { CodeBlock } from "../../ui/code.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Notice } from "../../ui/notice.tsx";
import { Json } from "../../ui/text/json.tsx";
import { ErrorState, Facts, Loading } from "../../ui/page.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { Switch } from "../../ui/form/toggle.tsx";
import { Badge, Count } from "../../ui/values.tsx";
import { Estimate, ModelFunctions } from "../../parts/model/model-functions.tsx";
import { PlaygroundLink } from "../../parts/playground/playground-link.tsx";

const route = getRouteApi("/shell/agents/$agentId/runs/$runId");

type Part = "messages" | "system" | "functions" | "parameters";

/** What the model was sent for a turn, and its difference to the turn before. */
export function SentTurnView({ run, step }: { run: RunTrace; step: number }) {
  const { agentId, runId } = run;
  const { part = "messages" } = route.useSearch();
  const change = useSearchChange(route);
  const params = { agentId, runId, step: String(step) };
  const sent = useQuery(resource("/agents/:agent_id/runs/:run_id/turns/:step/request", { params }));
  if (sent.error && !sent.data) return <ErrorState error={sent.error} onRetry={() => void sent.refetch()} />;
  if (!sent.data) return <Loading block="h-40" />;
  const { data } = sent;
  const { system, functions, messages, parameters, tokens } = data;
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <Total tokens={tokens} />
        <CopyButton text={() => JSON.stringify({ system, functions, messages, parameters }, null, 2)}>
          Copy as JSON
        </CopyButton>
        <PlaygroundLink agentId={agentId} size="small" icon="edit" search={{ again: runId }}>
          Open in playground
        </PlaygroundLink>
      </div>
      {data.historyDeleted && (
        <Notice tone="warn">
          Earlier queries of the thread were deleted. If that happened after this run, the model received them too.
        </Notice>
      )}
      <Tabs<Part>
        value={part}
        onChange={(part) => change({ part })}
        tabs={[
          { value: "messages", label: `Messages ${messages.length}`, content: <Messages turn={data} /> },
          { value: "system", label: "System", content: <System turn={data} /> },
          { value: "functions", label: `Functions ${functions.length}`, content: <Functions turn={data} /> },
          { value: "parameters", label: "Parameters", content: <Parameters turn={data} /> },
        ]}
      />
    </div>
  );
}

/** The provider's count once it has answered, otherwise the estimate. */
function Total({ tokens: { system, functions, messages, input, cachedInput } }: Pick<SentTurn, "tokens">) {
  if (input === null) return <Estimate tokens={sum([system, ...functions, ...messages])} />;
  return (
    <span className="text-muted text-sm">
      <Count value={input} /> input tokens
      {cachedInput !== null && cachedInput > 0 && (
        <>
          , <Count value={cachedInput} /> from cache
        </>
      )}
    </span>
  );
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, value) => all + value, 0);

function Messages({ turn }: { turn: SentTurn }) {
  const { messages, earlierMessages, difference, tokens, step } = turn;
  const [changes, setChanges] = useState(false);
  const added = new Set(difference?.added);
  const shown = messages.flatMap((message, at) => (changes && !added.has(at) ? [] : [{ message, at }]));
  return (
    <div className="grid gap-3">
      {difference && (
        <div className="flex flex-wrap items-center justify-between gap-2">
          <Switch label={`Only changes since turn ${step}`} checked={changes} onChange={setChanges} />
          <span className="text-muted text-xs">
            {difference.added.length} added, {difference.removed.length} omitted
          </span>
        </div>
      )}
      <ol aria-label="Messages" className="grid gap-2">
        {shown.map(({ message, at }) => (
          <Message key={at} message={message} tokens={tokens.messages[at] ?? 0}>
            {at < earlierMessages && <Badge>earlier query</Badge>}
            {added.has(at) && <Badge tone="info">new</Badge>}
          </Message>
        ))}
      </ol>
      {difference && difference.removed.length > 0 && (
        <details>
          <summary className="text-muted text-sm">Omitted since turn {step}</summary>
          <ol aria-label="Omitted messages" className="mt-2 grid gap-2">
            {difference.removed.map((message, at) => (
              // The message order is fixed.
              <Message key={at} message={message} />
            ))}
          </ol>
        </details>
      )}
    </div>
  );
}

const ROLE_WORDS: Record<ModelMessage["role"], string> = { user: "User", assistant: "Model", results: "Results" };

/** Without `tokens` for an omitted message. */
const Message = ({ message, tokens, children }: { message: ModelMessage; tokens?: number; children?: ReactNode }) => (
  <li className={classNames("border-line min-w-0 rounded-lg border", tokens === undefined && "border-dashed")}>
    <div className="border-line flex flex-wrap items-center gap-2 border-b px-3 py-1.5 text-xs">
      <h4 className="font-semibold">{ROLE_WORDS[message.role]}</h4>
      {children}
      <span className="ml-auto">{tokens !== undefined && <Estimate tokens={tokens} />}</span>
    </div>
    <MessageBody message={message} />
  </li>
);

function MessageBody({ message }: { message: ModelMessage }) {
  if (message.role === "user")
    return (
      <div className="grid gap-2 p-3">
        {message.preface !== undefined && <LongText text={message.preface} muted />}
        <LongText text={message.text} />
      </div>
    );
  if (message.role === "results")
    return (
      <dl className="grid gap-2 p-3">
        {message.results.map(({ callId, name, content, isError }) => (
          <div key={callId} className="min-w-0">
            <dt className="mb-1 flex items-center gap-2 font-mono text-xs">
              {name} {isError && <Badge tone="bad">error</Badge>}
            </dt>
            <dd>
              <LongText text={content} />
            </dd>
          </div>
        ))}
      </dl>
    );
  return (
    <div className="grid gap-2 p-3">
      {message.text !== "" && <LongText text={message.text} />}
      {message.calls.map((call) => (
        <div key={call.id} className="min-w-0">
          <p className="mb-1 font-mono text-xs">{call.name}</p>
          <LongText text={call.arguments} />
        </div>
      ))}
      {message.echo && (
        <details>
          <summary className="text-muted text-xs">
            Sent in the blocks of {message.echo.provider}, with its reasoning
          </summary>
          <div className="mt-1">
            <Json value={message.echo.blocks} name="Provider blocks" />
          </div>
        </details>
      )}
    </div>
  );
}

/** A longer text is shown in part first, so that a conversation can be skimmed. */
const TEXT_UNITS = 1_200;

function LongText({ text, muted = false }: { text: string; muted?: boolean }) {
  const [all, setAll] = useState(false);
  const cut = !all && text.length > TEXT_UNITS;
  return (
    <div className="min-w-0">
      <p className={`font-mono text-xs break-words whitespace-pre-wrap ${muted ? "text-muted" : ""}`}>
        {cut ? `${text.slice(0, TEXT_UNITS)}…` : text}
      </p>
      {cut && (
        <button type="button" className="text-accent mt-1 text-xs underline" onClick={() => setAll(true)}>
          Show all {text.length.toLocaleString("en-US")} characters
        </button>
      )}
    </div>
  );
}

const System = ({ turn: { system, tokens } }: { turn: SentTurn }) => (
  <div className="grid gap-2">
    <Estimate tokens={tokens.system} />
    <CodeBlock text={system} wrap />
  </div>
);

function Functions({ turn: { functions, tokens } }: { turn: SentTurn }) {
  if (functions.length === 0) return <p className="text-muted text-sm">The role sees no functions.</p>;
  return <ModelFunctions functions={functions.map((fn, at) => ({ ...fn, tokens: tokens.functions[at] ?? 0 }))} />;
}

const PARAMETER_WORDS: Record<keyof ModelParameters, string> = {
  provider: "Provider",
  model: "Model",
  maxTokens: "Max tokens",
  temperature: "Temperature",
  reasoning: "Reasoning",
  toolChoice: "Function choice",
  answerFunction: "Answer function",
  cacheKey: "Cache key",
};

const DEFAULTS: Partial<Record<keyof ModelParameters, string>> = {
  temperature: "provider's default",
  reasoning: "provider's default",
  answerFunction: "none: the answer is a text",
};

function Parameters({ turn: { parameters, difference } }: { turn: SentTurn }) {
  const names = Object.keys(PARAMETER_WORDS) as (keyof ModelParameters)[];
  const text = (name: keyof ModelParameters, value: ModelParameters[keyof ModelParameters] | undefined) =>
    value === null || value === undefined ? (DEFAULTS[name] ?? "none") : String(value);
  return (
    <Facts
      items={names.map((name) => [
        PARAMETER_WORDS[name],
        <>
          {text(name, parameters[name])}
          {difference && name in difference.parameters && (
            <span className="text-info"> (turn before: {text(name, difference.parameters[name])})</span>
          )}
        </>,
      ])}
    />
  );
}
