import { PageHeader } from "../../ui/page-header.tsx";

export function LinkPage() {
  return <PageHeader title="Link" />;
}
