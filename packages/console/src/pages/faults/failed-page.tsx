import { useQueryErrorResetBoundary } from "@tanstack/react-query";
import { useRouter, type ErrorComponentProps } from "@tanstack/react-router";
import { ErrorState } from "../../ui/states.tsx";

/** Stands for a page that could not be loaded or drawn. */
export function FailedPage({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const queries = useQueryErrorResetBoundary();
  return (
    <ErrorState
      error={error}
      title="This page failed"
      onRetry={() => {
        queries.reset();
        reset();
        void router.invalidate();
      }}
    />
  );
}
