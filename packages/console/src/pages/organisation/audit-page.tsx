import { PageHeader } from "../../ui/page-header.tsx";

export function AuditPage() {
  return <PageHeader title="Audit" />;
}
