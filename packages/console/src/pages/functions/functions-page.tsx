import { PageHeader } from "../../ui/page-header.tsx";

export function FunctionsPage() {
  return <PageHeader title="Functions" />;
}
