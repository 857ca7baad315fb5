import { PageHeader } from "../../ui/page-header.tsx";

export function AnalyticsPage() {
  return <PageHeader title="Analytics" />;
}
