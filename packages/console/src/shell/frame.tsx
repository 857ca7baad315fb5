import type { ReactNode } from "react";
import { Logo } from "../ui/icon.tsx";
import { PageSkeleton, Skeleton } from "../ui/page.tsx";

interface FrameProps {
  header: ReactNode;
  sidebar: ReactNode;
  /** The page. */
  children: ReactNode;
}

/** The places for header, navigation and page. */
export const Frame = ({ header, sidebar, children }: FrameProps) => (
  <>
    <header className="border-line bg-page/90 sticky top-0 z-30 flex h-12 items-center gap-1.5 border-b px-2 backdrop-blur sm:px-4">
      {header}
    </header>
    <div className="lg:grid lg:grid-cols-[13.5rem_minmax(0,1fr)]">
      <aside className="border-line sticky top-12 hidden h-[calc(100dvh-3rem)] overflow-y-auto border-r p-3 lg:block">
        {sidebar}
      </aside>
      <main
        id="main"
        tabIndex={-1}
        className="mx-auto w-full max-w-[120rem] min-w-0 px-4 py-5 outline-none sm:px-6 sm:py-6 lg:px-8"
      >
        {children}
      </main>
    </div>
  </>
);

/** The frame until the session is known. */
export const FrameSkeleton = () => (
  <Frame
    header={
      <>
        {/* The menu button's space. */}
        <span className="size-8 lg:hidden" />
        <Brand />
      </>
    }
    sidebar={
      <div className="grid gap-4 px-2.5 py-2">
        {Array.from({ length: 8 }, (_, i) => (
          <Skeleton key={i} />
        ))}
      </div>
    }
  >
    <PageSkeleton />
  </Frame>
);

/** The product's logo and name. */
export const Brand = () => (
  <span className="flex shrink-0 items-center gap-2 font-semibold">
    <Logo />
    <span className="max-sm:hidden">Patchbay</span>
  </span>
);
