import { Time } from "./values.tsx";

/**
 * Says until when a list is complete while the run index is behind; nothing while it is not. `to`: `indexedTo` of an
 * answer.
 */
export function IndexNote({ to }: { to: string | undefined }) {
  if (to === undefined) return null;
  return (
    <p role="status" className="text-muted py-2 text-xs">
      Runs until <Time at={to} exact /> are indexed. Later ones may be missing here.
    </p>
  );
}
