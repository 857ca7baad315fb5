import { PageHeader } from "../../ui/page-header.tsx";

export function SignInPage() {
  return <PageHeader title="Sign in" />;
}
