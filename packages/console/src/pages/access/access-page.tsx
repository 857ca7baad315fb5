import { PageHeader } from "../../ui/page-header.tsx";

export function AccessPage() {
  return <PageHeader title="Access" />;
}
