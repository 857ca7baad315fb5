import { PageHeader } from "../../ui/page-header.tsx";

export function CreditsPage() {
  return <PageHeader title="Credits" />;
}
