import type { ReactNode } from "react";
import { Logo } from "../../shell/logo.tsx";
import { PageHeader } from "../../ui/page-header.tsx";

/** What stands around pages of people who are not signed in yet. */
export function SignInFrame({
  title,
  description,
  children,
}: {
  title: string;
  description?: ReactNode;
  children: ReactNode;
}) {
  return (
    <main className="mx-auto flex min-h-dvh w-full max-w-sm flex-col justify-center px-4 py-12">
      <div className="mb-6 flex items-center gap-2.5 font-semibold">
        <Logo />
        Patchbay
      </div>
      <PageHeader title={title} {...(description !== undefined && { description })} />
      {children}
    </main>
  );
}
