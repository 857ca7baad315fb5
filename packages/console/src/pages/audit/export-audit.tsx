import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { api } from "../../api/api.ts";
import type { QueryOf } from "../../api/routes.ts";
import { formatCount } from "../../format/numbers.ts";
import { tellDone, tellFailed } from "../../state/toasts.ts";
import { Button } from "../../ui/button.tsx";
import { download } from "../runs/download.ts";
import { collectEntries } from "./collect-entries.ts";

/** Saves everything that the filters let through, not only what is loaded. */
export function ExportAudit({ query }: { query: QueryOf<"GET", "/audit"> }) {
  const [count, setCount] = useState(0);
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  const save = useMutation({
    mutationFn: async () => {
      const { signal } = (stop.current = new AbortController());
      setCount(0);
      const getPage = (cursor: string | undefined) =>
        api.get("/audit", { query: { ...query, limit: 100, cursor }, signal });
      return collectEntries(getPage, setCount);
    },
    onSuccess: ({ text, count, cut }) => {
      download("audit.ndjson", "application/x-ndjson", text);
      tellDone(
        `${formatCount(count)} entries saved`,
        cut ? "There are more: narrow the filters, or the time, to save the rest." : undefined,
      );
    },
    onError: (error) => {
      if (stop.current?.signal.aborted !== true) tellFailed("The log was not saved", error);
    },
  });
  if (!save.isPending)
    return (
      <Button icon="download" onClick={() => save.mutate()}>
        Export NDJSON
      </Button>
    );
  return (
    <Button icon="close" onClick={() => stop.current?.abort()}>
      Stop at {formatCount(count)}
    </Button>
  );
}
