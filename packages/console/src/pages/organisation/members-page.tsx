import { PageHeader } from "../../ui/page-header.tsx";

export function MembersPage() {
  return <PageHeader title="Members" />;
}
