import type { TestCallResult } from "@patchbay/protocol/console";
import { type ReactNode, useLayoutEffect, useState } from "react";
import { CodeBlock } from "../../ui/code.tsx";
import { useWidth } from "../../ui/measure.ts";

export interface CallFailure extends Pick<TestCallResult, "callId" | "runtime" | "code" | "errorMessage" | "error"> {
  /** Host and deployment of the runtime, if the store still has them. */
  runtimeName?: string | undefined;
}

/** Why a call failed, for members: what the owner's code threw, or where its log has that. Nothing for other failures. */
export function OwnerError({ failure }: { failure: CallFailure | undefined }) {
  if (!failure) return null;
  const { error, code } = failure;
  if (error)
    return (
      <CodeBlock
        title={
          <Clamped>
            Thrown by your code, shown to members only:{" "}
            <span className="text-bad">{`${error.name}: ${error.message}`}</span>
          </Clamped>
        }
        text={error.stack === "" ? `${error.name}: ${error.message}` : error.stack}
        wrap
      />
    );
  return code === "function_failed" ? <WhereToLook {...failure} /> : null;
}

/** A text of three lines at first; a longer one has a button that shows all of it. */
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
  const reference = /Reference: ([0-9a-f]{12})$/.exec(errorMessage ?? "")?.[1];
  return (
    <p className="bg-info-soft text-info rounded-md px-3 py-2 text-sm">
      The error is in the log of runtime {runtimeName !== undefined && <strong>{runtimeName} </strong>}
      <code className="font-mono text-xs break-all">{runtime ?? "unknown"}</code>. Search it for{" "}
      <code className="font-mono text-xs break-all">{reference ?? callId}</code>. To see errors here, connect with{" "}
      <code className="font-mono text-xs">reportErrors: true</code>.
    </p>
  );
}
