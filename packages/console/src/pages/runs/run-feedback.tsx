import type { RunTrace } from "@patchbay/protocol/console";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, refetch, useSession } from "../../api/api.ts";
import { GuardedButton } from "../../ui/button.tsx";
import { TextField } from "../../ui/field.tsx";
import { Form } from "../../ui/form.tsx";
import { Card } from "../../ui/page.tsx";
import { Segmented } from "../../ui/toggle.tsx";
import { showSuccess } from "../../ui/toast.tsx";
import { Badge, Time } from "../../ui/values.tsx";

/** What members and clients say about a run, and the form of the signed-in member. */
export const RunFeedback = ({ run }: { run: RunTrace }) => (
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
    <Card title="Your feedback" description="Replaces what you said before">
      <FeedbackForm key={run.runId} run={run} />
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

function FeedbackForm({ run: { agentId, runId, feedback } }: { run: RunTrace }) {
  const { member } = useSession();
  const own = feedback.find(({ keyId }) => keyId === member.memberId);
  const [score, setScore] = useState(own?.score === null || own === undefined ? "" : String(Math.sign(own.score)));
  const [tags, setTags] = useState(own?.tags.join(", ") ?? "");
  const [comment, setComment] = useState(own?.comment ?? "");
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
        <Segmented label="Score" options={SCORES} value={score} onChange={setScore} />
      </div>
      <TextField
        label="Tags"
        hint="Separated by commas, at most 20"
        spellCheck={false}
        value={tags}
        onChange={setTags}
      />
      <TextField label="Note" rows={4} maxLength={10_000} value={comment} onChange={setComment} />
    </Form>
  );
}
