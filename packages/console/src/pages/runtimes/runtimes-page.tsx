import { PageHeader } from "../../ui/page-header.tsx";

export function RuntimesPage() {
  return <PageHeader title="Runtimes" />;
}
