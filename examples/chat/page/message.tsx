import { type DynamicToolUIPart, isTextUIPart, type UIMessage } from "ai";
import { useEffect } from "react";
import { askServer } from "./ask-server.ts";
import { Markdown } from "./markdown.tsx";

/** One message. The parts of an answer are in the order in which they arrived. */
export function Message({ message, onDecided }: { message: UIMessage; onDecided: () => void }) {
  return (
    <li className={message.role} aria-label={message.role === "user" ? "You" : "Desk"}>
      {message.parts.map((part, index) => {
        if (isTextUIPart(part))
          return message.role === "user" ? <p key={index}>{part.text}</p> : <Markdown key={index} text={part.text} />;
        if (part.type === "dynamic-tool") return <Call key={part.toolCallId} call={part} onDecided={onDecided} />;
        return null;
      })}
    </li>
  );
}

/** One call of a function, with its result, or with what keeps it from running. */
function Call({ call, onDecided }: { call: DynamicToolUIPart; onDecided: () => void }) {
  return (
    <details className="call">
      <summary>
        {call.toolName}: <strong>{stateOf(call)}</strong>
      </summary>
      {call.state === "approval-requested" && <Waiting approvalId={call.approval.id} onDecided={onDecided} />}
      <pre>{JSON.stringify(call.input, undefined, 2)}</pre>
      {call.state === "output-available" && <pre>{JSON.stringify(call.output, undefined, 2)}</pre>}
    </details>
  );
}

function stateOf(call: DynamicToolUIPart): string {
  if (call.state === "output-available") return "done";
  if (call.state === "output-error") return call.errorText;
  if (call.state === "output-denied") return "rejected";
  if (call.state === "approval-requested") return "waits for a manager";
  return "running";
}

const POLL_MS = 1_000;

/** Looks whether the approval is decided. */
function Waiting({ approvalId, onDecided }: { approvalId: string; onDecided: () => void }) {
  useEffect(() => {
    const path = `/api/approvals/${encodeURIComponent(approvalId)}`;
    const look = () =>
      askServer<{ status: string }>("GET", path).then(
        ({ status }) => status !== "pending" && onDecided(),
        () => undefined, // looks again
      );
    const timer = setInterval(() => void look(), POLL_MS);
    return () => clearInterval(timer);
  }, [approvalId, onDecided]);
  return null;
}
