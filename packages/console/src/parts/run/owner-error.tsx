import type { TestCallResult } from "@patchbay/protocol/console";
import { type ReactNode, useLayoutEffect, useState } from "react";
import { useHasRole } from "../../api/api.ts";
import { CodeBlock } from "../../ui/code.tsx";
import { useWidth } from "../../ui/measure.ts";
import { Notice } from "../../ui/notice.tsx";

export interface CallFailure extends Pick<TestCallResult, "callId" | "runtime" | "code" | "errorMessage" | "error"> {
  /** The runtime's host and deployment, if the store still has them. */
  runtimeName?: string | undefined;
}

/** Why a call failed: what the owner's code threw, for developers and owners, or where its log has that. Nothing for other failures. */
export function OwnerError({ failure }: { failure: CallFailure | undefined }) {
  if (!failure) return null;
  const { error, code } = failure;
  if (error)
    return (
      <CodeBlock
        title={
          <Clamped>
            Thrown by your code, shown to developers and owners only:{" "}
            <span className="text-bad">{`${error.name}: ${error.message}`}</span>
          </Clamped>
        }
        text={error.stack === "" ? `${error.name}: ${error.message}` : error.stack}
        wrap
      />
    );
  return code === "function_failed" ? <WhereToLook {...failure} /> : null;
}

/** A text with three lines at first; a longer one has a button that shows it all. */
function Clamped({ children }: { children: ReactNode }) {
  const [ref, width] = useWidth<HTMLSpanElement>();
  const [cut, setCut] = useState(false);
  const [open, setOpen] = useState(false);
  useLayoutEffect(() => {
    const text = ref.current;
    if (text && !open) setCut(text.scrollHeight > text.clientHeight);
  }, [ref, width, open, children]);
  return (
    <>
      <span ref={ref} className={`break-words ${open ? "block" : "line-clamp-3"}`}>
        {children}
      </span>
      {cut && (
        <button
          type="button"
          aria-expanded={open}
          className="text-accent mt-1 underline"
          onClick={() => setOpen(!open)}
        >
          {open ? "Show less" : "Show all"}
        </button>
      )}
    </>
  );
}

/** A message without a reference is one that the owner's code wrote for the caller. */
function WhereToLook({ callId, runtime, runtimeName, errorMessage }: CallFailure) {
  const isDeveloper = useHasRole("developer");
  const reference = /Reference: ([0-9a-f]{12})$/.exec(errorMessage ?? "")?.[1];
  return (
    <Notice tone="info">
      The error is in the log of runtime {runtimeName !== undefined && <strong>{runtimeName} </strong>}
      <code className="font-mono text-xs break-all">{runtime ?? "unknown"}</code>. Search it for{" "}
      <code className="font-mono text-xs break-all">{reference ?? callId}</code>.{" "}
      {isDeveloper ? (
        <>
          To see errors here, connect with <code className="font-mono text-xs">reportErrors: true</code>.
        </>
      ) : (
        "Developers and owners see errors here that the runtime reports."
      )}
    </Notice>
  );
}
