import type { TestCallResult } from "@patchbay/protocol/console";
import { CodeBlock } from "../../ui/code.tsx";

export type CallFailure = Pick<TestCallResult, "callId" | "runtime" | "code" | "errorMessage" | "error">;

/** Why a call failed, for members: what the owner's code threw, or where its log has that. Nothing for other failures. */
export function OwnerError({ failure }: { failure: CallFailure | undefined }) {
  if (!failure) return null;
  const { error, code } = failure;
  if (error)
    return (
      <CodeBlock
        title={
          <>
            Thrown by your code, shown to members only:{" "}
            <span className="text-bad">{`${error.name}: ${error.message}`}</span>
          </>
        }
        text={error.stack === "" ? `${error.name}: ${error.message}` : error.stack}
        wrap
      />
    );
  return code === "function_failed" ? <WhereToLook {...failure} /> : null;
}

/** A message without a reference is one that the owner's code wrote for the caller. */
function WhereToLook({ callId, runtime, errorMessage }: CallFailure) {
  const reference = /Reference: ([0-9a-f]{12})$/.exec(errorMessage ?? "")?.[1];
  return (
    <p className="bg-info-soft text-info rounded-md px-3 py-2 text-sm">
      The error is in the log of runtime <code className="font-mono text-xs break-all">{runtime ?? "unknown"}</code>.
      Search it for <code className="font-mono text-xs break-all">{reference ?? callId}</code>. To see errors here,
      connect with <code className="font-mono text-xs">reportErrors: true</code>.
    </p>
  );
}
