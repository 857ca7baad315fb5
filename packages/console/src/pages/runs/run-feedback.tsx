import type { RunTrace } from "@patchbay/protocol/console";
import { useMutation } from "@tanstack/react-query";
import { api, refetch, useSession } from "../../api/api.ts";
import { GuardedButton } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { Form } from "../../ui/form.tsx";
import { Card } from "../../ui/page.tsx";
import { Segmented } from "../../ui/toggle.tsx";
import { showSuccess } from "../../ui/toast.tsx";
import { Badge, Time } from "../../ui/values.tsx";

/** Feedback that the member has not saved. The page keeps it, because the form is removed with its tab. */
export interface FeedbackDraft {
  runId: string;
  score: string;
  tags: string;
  comment: string;
}

interface RunFeedbackProps {
  run: RunTrace;
  draft: FeedbackDraft | undefined;
  onDraft: (draft: FeedbackDraft) => void;
}

/** The feedback of members and clients on a run, and the form of the signed-in member. */
export const RunFeedback = ({ run, draft, onDraft }: RunFeedbackProps) => (
  <div className="grid items-start gap-4 lg:grid-cols-2">
    <Card title="Feedback">
      {run.feedback.length === 0 ? (
        <p className="text-muted text-sm">No feedback yet. Clients send it with the API, members with this form.</p>
      ) : (
        <ul aria-label="Feedback" className="grid gap-4 text-sm">
          {run.feedback.map((one) => (
            <li key={one.keyId} className="grid gap-1.5">
              <span className="flex flex-wrap items-center gap-2">
                <Score score={one.score} />
                {one.tags.map((tag) => (
                  <Badge key={tag}>{tag}</Badge>
                ))}
              </span>
              {one.comment !== null && <p className="whitespace-pre-wrap">{one.comment}</p>}
              <span className="text-muted text-xs">
                {one.name ?? one.keyId}, <Time at={one.at} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
    <Card title="Your feedback" description="Replaces your earlier feedback">
      <FeedbackForm run={run} draft={draft?.runId === run.runId ? draft : undefined} onDraft={onDraft} />
    </Card>
  </div>
);

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

function FeedbackForm({ run: { agentId, runId, feedback }, draft, onDraft }: RunFeedbackProps) {
  const { member } = useSession();
  const own = feedback.find(({ keyId }) => keyId === member.memberId);
  const saved = {
    runId,
    score: own?.score === null || own === undefined ? "" : String(Math.sign(own.score)),
    tags: own?.tags.join(", ") ?? "",
    comment: own?.comment ?? "",
  };
  const { score, tags, comment } = draft ?? saved;
  const change = (part: Partial<FeedbackDraft>) => onDraft({ ...(draft ?? saved), ...part });
  const named = [...new Set(tags.split(",").map((tag) => tag.trim()))].filter((tag) => tag !== "");
  const body = {
    ...(score !== "" && { score: Number(score) }),
    ...(named.length > 0 && { tags: named }),
    ...(comment.trim() !== "" && { comment }),
  };
  const save = useMutation({
    mutationFn: () => api.post("/agents/:agent_id/runs/:run_id/feedback", { params: { agentId, runId }, body }),
    onSuccess: () => {
      void refetch("/agents/:agent_id/runs/:run_id", "/agents/:agent_id/runs");
      showSuccess("Feedback saved");
    },
  });
  return (
    <Form
      error={save.error}
      onSubmit={save.mutate}
      submit={
        <GuardedButton
          needs="developer"
          type="submit"
          look="primary"
          busy={save.isPending}
          disabled={Object.keys(body).length === 0}
          className="justify-self-start"
        >
          Save feedback
        </GuardedButton>
      }
    >
      <div>
        <Segmented label="Score" options={SCORES} value={score} onChange={(next) => change({ score: next })} />
      </div>
      <TextField
        label="Tags"
        hint="Separated by commas, at most 20"
        spellCheck={false}
        value={tags}
        onChange={(next) => change({ tags: next })}
      />
      <TextField
        label="Note"
        rows={4}
        maxLength={10_000}
        value={comment}
        onChange={(next) => change({ comment: next })}
      />
    </Form>
  );
}
