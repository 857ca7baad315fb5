import { PageHeader } from "../../ui/page-header.tsx";

export function ThreadsPage() {
  return <PageHeader title="Threads" />;
}
