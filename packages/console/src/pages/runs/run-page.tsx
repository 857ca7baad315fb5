import { PageHeader } from "../../ui/page-header.tsx";

export function RunPage() {
  return <PageHeader title="Run" />;
}
