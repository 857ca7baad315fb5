import { useCallback, useEffect, useState } from "react";
import { askServer } from "./ask-server.ts";

interface PendingApproval {
  approvalId: string;
  toolName: string;
  parameters: unknown;
  reason?: string;
}

const POLL_MS = 1_000;

/** The calls that wait for a manager. */
export function Approvals() {
  const [pending, setPending] = useState<PendingApproval[]>([]);
  const [error, setError] = useState<string>();
  const load = useCallback(
    () => askServer<PendingApproval[]>("GET", "/api/approvals").then(setPending, () => undefined), // loads again
    [],
  );

  useEffect(() => {
    void load();
    const timer = setInterval(() => void load(), POLL_MS);
    return () => clearInterval(timer);
  }, [load]);

  const decide = async (approvalId: string, approved: boolean) => {
    const failed = await askServer("POST", `/api/approvals/${encodeURIComponent(approvalId)}`, { approved }).then(
      () => undefined,
      (thrown: Error) => thrown.message,
    );
    setError(failed);
    await load();
  };

  return (
    <section aria-label="Approvals">
      <h2>Approvals</h2>
      {error !== undefined && <p role="alert">{error}</p>}
      {pending.length === 0 && <p>No call waits for you.</p>}
      {pending.map(({ approvalId, toolName, parameters, reason }) => (
        <article key={approvalId} aria-label={toolName}>
          <p>{reason ?? toolName}</p>
          <pre>{JSON.stringify(parameters, undefined, 2)}</pre>
          <button type="button" onClick={() => decide(approvalId, true)}>
            Approve
          </button>
          <button type="button" onClick={() => decide(approvalId, false)}>
            Reject
          </button>
        </article>
      ))}
    </section>
  );
}
