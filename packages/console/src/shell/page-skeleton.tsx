import { Loading, Skeleton } from "../ui/states.tsx";

/** Stands for a page whose code or first data is on its way. */
export function PageSkeleton() {
  return (
    <Loading label="Loading page">
      <div className="grid gap-5">
        <Skeleton className="h-7 w-48" />
        <Skeleton className="h-9 w-full max-w-xl" />
        <Skeleton className="h-72 w-full rounded-lg" />
      </div>
    </Loading>
  );
}
