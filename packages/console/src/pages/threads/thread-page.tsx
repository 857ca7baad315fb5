import { PageHeader } from "../../ui/page-header.tsx";

export function ThreadPage() {
  return <PageHeader title="Thread" />;
}
