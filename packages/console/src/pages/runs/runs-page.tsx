import { PageHeader } from "../../ui/page-header.tsx";

export function RunsPage() {
  return <PageHeader title="Runs" />;
}
