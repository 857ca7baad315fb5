import { TextLink } from "../../ui/button.tsx";

/** Says that a run waits for a person, and leads to its approvals. */
export const WaitsForApproval = ({ runId }: { runId: string }) => (
  <p className="text-muted text-sm">
    Waiting for approval.{" "}
    <TextLink to="/approvals" search={{ runId }}>
      Open approvals
    </TextLink>
  </p>
);
