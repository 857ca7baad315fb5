import { PageHeader } from "../../ui/page-header.tsx";

export function AgentsPage() {
  return <PageHeader title="Agents" />;
}
