import { Link } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { useSession } from "../api/api.ts";
import { buttonClass, IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Skeleton } from "../ui/page.tsx";
import { Kbd } from "../ui/values.tsx";
import { Brand } from "./frame.tsx";

// Lazy: no page needs the menus for its first paint.
const loadMenus = () => import("./header-menus.tsx");
const AgentSwitcher = lazy(async () => ({ default: (await loadMenus()).AgentSwitcher }));
const ThemeMenu = lazy(async () => ({ default: (await loadMenus()).ThemeMenu }));
const AccountMenu = lazy(async () => ({ default: (await loadMenus()).AccountMenu }));

export function Header({ onPalette, onNavigation }: { onPalette: () => void; onNavigation: () => void }) {
  const { organisation, local } = useSession();
  return (
    <>
      <IconButton icon="menu" label="Pages" className="lg:hidden" onClick={onNavigation} />
      <Link to="/agents" className="shrink-0 rounded-md" aria-label="Patchbay: agents">
        <Brand />
      </Link>
      <span aria-hidden="true" className="text-line px-1 text-lg max-sm:hidden">
        /
      </span>
      <span className="flex min-w-0 items-center gap-2 max-md:hidden">
        <span className="max-w-48 truncate text-sm font-medium">{organisation.name}</span>
        <span className="border-line text-muted text-2xs rounded border px-1.5 py-px">
          {local ? "local" : organisation.tier}
        </span>
      </span>
      <span aria-hidden="true" className="text-line px-1 text-lg max-md:hidden">
        /
      </span>
      <Suspense fallback={<Skeleton className="h-5 w-24" />}>
        <AgentSwitcher />
      </Suspense>
      <div className="flex-1" />
      <button
        type="button"
        onClick={onPalette}
        className={`${buttonClass("secondary")} text-muted font-normal max-sm:hidden md:w-56 md:justify-start`}
      >
        <Icon name="search" className="size-3.5" />
        <span className="flex-1 text-left">Search</span>
        <Kbd keys="mod K" />
      </button>
      <IconButton icon="search" label="Search" className="sm:hidden" onClick={onPalette} />
      <Suspense fallback={<span className="w-16" />}>
        <ThemeMenu />
        <AccountMenu />
      </Suspense>
    </>
  );
}
