import type { ReactNode } from "react";
import { Logo } from "../../ui/icon.tsx";
import { Loading, PageHeader, Skeleton } from "../../ui/page.tsx";

interface SignInFrameProps {
  title: string;
  description?: ReactNode;
  children: ReactNode;
}

/**
 * The layout for pages without a session. It begins at a fixed height, so that the heading stays where it is while
 * content loads.
 */
export const SignInFrame = ({ title, description, children }: SignInFrameProps) => (
  <main className="mx-auto w-full max-w-sm px-4 pt-[max(3rem,16vh)] pb-12">
    <div className="mb-6 flex items-center gap-2.5 font-semibold">
      <Logo />
      Patchbay
    </div>
    <PageHeader title={title} description={description} />
    {children}
  </main>
);

/** The sign-in page while its code loads. */
export const SignInSkeleton = () => (
  <SignInFrame title="Sign in">
    <Loading label="Loading page">
      <div className="grid gap-4">
        {["w-12", "w-16"].map((label) => (
          <div key={label} className="grid gap-1">
            <Skeleton className={`h-5 ${label}`} />
            <Skeleton className="h-8 w-full" />
          </div>
        ))}
        <Skeleton className="h-8 w-full" />
      </div>
    </Loading>
  </SignInFrame>
);

/** A link's page while its code loads, and while the link is opened. */
export const LinkSkeleton = () => (
  <SignInFrame title="Signing in">
    <Loading block="h-8" />
  </SignInFrame>
);
