import { Outlet } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useState } from "react";
import { queryClient } from "../api/api.ts";
import { followChanges } from "../api/live.ts";
import { Header } from "./header.tsx";
import { Sidebar } from "./sidebar.tsx";
import { useShortcuts } from "./use-shortcuts.ts";

const loadDrawer = () => import("./navigation-drawer.tsx");
const loadPalette = () => import("./palette.tsx");
const loadShortcuts = () => import("./shortcut-list.tsx");
const NavigationDrawer = lazy(async () => ({ default: (await loadDrawer()).NavigationDrawer }));
const Palette = lazy(async () => ({ default: (await loadPalette()).Palette }));
const ShortcutList = lazy(async () => ({ default: (await loadShortcuts()).ShortcutList }));

/** What any key may open is fetched after the first page: it then opens at once, and without the service too. */
const AHEAD_AFTER_MS = 2_000;

function useOverlaysAhead(): void {
  useEffect(() => {
    const timer = setTimeout(
      () => void Promise.allSettled([loadDrawer(), loadPalette(), loadShortcuts()]),
      AHEAD_AFTER_MS,
    );
    return () => clearTimeout(timer);
  }, []);
}

type Overlay = "palette" | "shortcuts" | "navigation" | undefined;

/** What stands around every page of a person who is signed in. */
export function Shell() {
  const [overlay, setOverlay] = useState<Overlay>();
  const close = () => setOverlay(undefined);
  useEffect(() => followChanges(queryClient), []);
  useOverlaysAhead();
  useShortcuts({ onPalette: () => setOverlay("palette"), onList: () => setOverlay("shortcuts") });
  return (
    <>
      <a
        href="#main"
        className="bg-accent-fill text-on-accent fixed top-2 left-2 z-50 -translate-y-20 rounded-md px-3 py-1.5 text-sm font-medium focus:translate-y-0"
        onClick={(event) => {
          // A changed hash would be a navigation.
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to content
      </a>
      <Header onPalette={() => setOverlay("palette")} onNavigation={() => setOverlay("navigation")} />
      <div className="lg:grid lg:grid-cols-[13.5rem_minmax(0,1fr)]">
        <aside className="border-line sticky top-12 hidden h-[calc(100dvh-3rem)] overflow-y-auto border-r p-3 lg:block">
          <Sidebar />
        </aside>
        <main
          id="main"
          tabIndex={-1}
          className="mx-auto w-full max-w-[120rem] min-w-0 px-4 py-5 outline-none sm:px-6 sm:py-6 lg:px-8"
        >
          <Outlet />
        </main>
      </div>
      <Suspense>
        {overlay === "navigation" && <NavigationDrawer onClose={close} />}
        {overlay === "palette" && <Palette onClose={close} />}
        {overlay === "shortcuts" && <ShortcutList onClose={close} />}
      </Suspense>
    </>
  );
}
