import { useQueryErrorResetBoundary } from "@tanstack/react-query";
import { useRouter, type ErrorComponentProps } from "@tanstack/react-router";
import { ApiError } from "../../api/api-error.ts";
import { PageHeader } from "../../ui/page-header.tsx";
import { ErrorState } from "../../ui/states.tsx";
import { NotFoundPage } from "./not-found-page.tsx";

/** Stands for a page that could not be loaded or drawn. */
export function FailedPage({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const queries = useQueryErrorResetBoundary();
  if (error instanceof ApiError && error.code === "not_found") return <NotFoundPage why={error.message} />;
  return (
    <>
      <PageHeader title="This page failed" />
      <ErrorState
        error={error}
        onRetry={() => {
          queries.reset();
          reset();
          void router.invalidate();
        }}
      />
    </>
  );
}
