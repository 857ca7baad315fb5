import type { RunTrace } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { useAction } from "../../api/action.ts";
import { api, refetch, resource, useSession } from "../../api/api.ts";
import type { BodyOf } from "../../api/routes.ts";
import { Button, GuardedButton } from "../../ui/button.tsx";
import { TextField } from "../../ui/form/field.tsx";
import { Form } from "../../ui/form/form.tsx";
import { Card } from "../../ui/page.tsx";
import { Segmented } from "../../ui/form/toggle.tsx";
import { showSuccess } from "../../ui/toast.tsx";
import { Badge, Time } from "../../ui/values.tsx";
import { Badges } from "../../ui/badges.tsx";

/** Feedback that the member has not saved. The page keeps it, because the form is removed with its tab. */
export interface FeedbackDraft {
  score: string;
  tags: string;
  comment: string;
}

interface RunFeedbackProps {
  run: RunTrace;
  draft: FeedbackDraft | undefined;
  onDraft: (draft: FeedbackDraft | undefined) => void;
}

/** Feedback on a run from members and clients, and the signed-in member's form. */
export function RunFeedback({ run, draft, onDraft }: RunFeedbackProps) {
  const own = useOwnFeedback(run);
  return (
    <div className="grid items-start gap-4 lg:grid-cols-2">
      <Card title="Feedback">
        {run.feedback.length === 0 ? (
          <p className="text-muted text-sm">No feedback yet. Clients send it with the API, members with this form.</p>
        ) : (
          <ul aria-label="Feedback" className="grid gap-4 text-sm">
            {run.feedback.map((entry) => (
              <li key={entry.keyId} className="grid gap-1.5">
                <span className="flex flex-wrap items-center gap-2">
                  <Score score={entry.score} />
                  <Badges of={entry.tags} />
                </span>
                {entry.comment !== null && <p className="whitespace-pre-wrap">{entry.comment}</p>}
                <span className="text-muted text-xs">
                  {entry.name ?? entry.keyId}, <Time at={entry.at} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </Card>
      <Card title="Your feedback" description={own && "Replaces your earlier feedback"}>
        <FeedbackForm run={run} draft={draft} onDraft={onDraft} />
      </Card>
    </div>
  );
}

/** The signed-in member's feedback. */
function useOwnFeedback({ feedback }: RunTrace) {
  const { memberId } = useSession().member;
  return feedback.find(({ keyId }) => keyId === memberId);
}

function Score({ score }: { score: number | null }) {
  if (score === null) return null;
  if (score === 0) return <Badge icon="stopped">neutral</Badge>;
  const good = score > 0;
  return (
    <Badge tone={good ? "ok" : "bad"} icon={good ? "succeeded" : "failed"}>
      {good ? "good" : "bad"}
      {Math.abs(score) < 1 && ` (${score})`}
    </Badge>
  );
}

const SCORES = [
  { value: "1", label: "Good" },
  { value: "0", label: "Neutral" },
  { value: "-1", label: "Bad" },
];

/** Copies of limits in `@patchbay/protocol`, whose schemas would add to the bundle. */
const TAGS = 20;
const TAG_UNITS = 64;

/** Tags in the text field, each once. */
const tagsIn = (text: string): string[] =>
  [...new Set(text.split(",").map((tag) => tag.trim()))].filter((tag) => tag !== "");

function faultOf(tags: readonly string[]): string | undefined {
  if (tags.length > TAGS) return `Enter at most ${TAGS} tags. These are ${tags.length}.`;
  const long = tags.find(({ length }) => length > TAG_UNITS);
  return long && `“${long.slice(0, 20)}…” has ${long.length} characters. A tag has at most ${TAG_UNITS}.`;
}

const FEEDBACK = "/agents/:agent_id/runs/:run_id/feedback";

/** What shows feedback. */
const SHOWING = ["/agents/:agent_id/runs/:run_id", "/agents/:agent_id/runs", "/agents/:agent_id/run-values"] as const;

/** Saves and removes the member's feedback. */
function useFeedback({ agentId, runId }: RunTrace, body: BodyOf<"POST", typeof FEEDBACK>, onRemoved: () => void) {
  const params = { agentId, runId };
  const save = useAction({
    mutationFn: () => api.post(FEEDBACK, { params, body }),
    onSuccess: () => {
      void refetch(...SHOWING);
      showSuccess("Feedback saved");
    },
  });
  const remove = useAction({
    mutationFn: () => api.delete(FEEDBACK, { params }),
    onSuccess: async () => {
      await refetch(...SHOWING);
      onRemoved();
      showSuccess("Feedback removed");
    },
  });
  return { save, remove };
}

function FeedbackForm({ run, draft, onDraft }: RunFeedbackProps) {
  const { agentId } = run;
  const own = useOwnFeedback(run);
  const saved = {
    score: own?.score == null ? "" : String(Math.sign(own.score)),
    tags: own?.tags.join(", ") ?? "",
    comment: own?.comment ?? "",
  };
  const { score, tags, comment } = draft ?? saved;
  const change = (part: Partial<FeedbackDraft>) => onDraft({ ...(draft ?? saved), ...part });
  const named = tagsIn(tags);
  const fault = faultOf(named);
  const body = {
    ...(score !== "" && { score: Number(score) }),
    ...(named.length > 0 && { tags: named }),
    ...(comment.trim() !== "" && { comment }),
  };
  const canSave = Object.keys(body).length > 0 && fault === undefined;
  const scores = useRef<HTMLDivElement>(null);
  const onRemoved = (): void => {
    onDraft(undefined);
    // The button that had the focus is gone.
    scores.current?.querySelector("button")?.focus();
  };
  const { save, remove } = useFeedback(run, body, onRemoved);
  return (
    <Form
      error={save.error ?? remove.error}
      onSubmit={save.mutate}
      submit={
        <div className="flex flex-wrap gap-2">
          <GuardedButton needs="developer" type="submit" look="primary" busy={save.isPending} disabled={!canSave}>
            Save feedback
          </GuardedButton>
          {own && (
            <GuardedButton needs="developer" icon="trash" busy={remove.isPending} onClick={() => remove.mutate()}>
              Remove feedback
            </GuardedButton>
          )}
        </div>
      }
    >
      <div ref={scores}>
        <Segmented label="Score" options={SCORES} value={score} onChange={(next) => change({ score: next })} />
      </div>
      <div className="grid gap-2">
        <TextField
          label="Tags"
          hint={`Separated by commas, at most ${TAGS}`}
          error={fault}
          spellCheck={false}
          value={tags}
          onChange={(next) => change({ tags: next })}
        />
        <UsedTags agentId={agentId} except={named} onPick={(tag) => change({ tags: [...named, tag].join(", ") })} />
      </div>
      <TextField
        label="Comment"
        rows={4}
        maxLength={10_000}
        value={comment}
        onChange={(next) => change({ comment: next })}
      />
    </Form>
  );
}

const SUGGESTED = 8;

/** The most frequent tags on the agent's runs, each a button that adds it. */
function UsedTags({ agentId, except, onPick }: { agentId: string; except: string[]; onPick: (tag: string) => void }) {
  const { data } = useQuery(resource("/agents/:agent_id/run-values", { params: { agentId } }));
  // A client's tag may have a comma, which separates tags here.
  const tags = data?.tags.map(({ value }) => value).filter((tag) => !except.includes(tag) && !tag.includes(","));
  if (!tags?.length) return null;
  return (
    <div role="group" aria-label="Tags in use" className="flex min-w-0 flex-wrap gap-1.5">
      {tags.slice(0, SUGGESTED).map((tag) => (
        <Button key={tag} size="small" icon="plus" className="max-w-full min-w-0" onClick={() => onPick(tag)}>
          <span className="truncate">{tag}</span>
        </Button>
      ))}
    </div>
  );
}
