import { PageHeader } from "../../ui/page-header.tsx";

export function AgentSettingsPage() {
  return <PageHeader title="Agent settings" />;
}
