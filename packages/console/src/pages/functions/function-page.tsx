import { PageHeader } from "../../ui/page-header.tsx";

export function FunctionPage() {
  return <PageHeader title="Function" />;
}
