import { Outlet, useNavigate } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { queryClient } from "../api/api.ts";
import { followChanges, reconnectNow, staleSince } from "../api/live.ts";
import { formatTime } from "../format/times.ts";
import { Frame } from "./frame.tsx";
import { Header } from "./header.tsx";
import { Sidebar } from "./sidebar.tsx";
import { useHotkeys, useKeydown } from "../state/hotkeys.ts";
import { useSignal, zone } from "../state/signals.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { AGENT_PAGES, ORGANISATION_PAGES, useCarriedRange, useCurrentAgentId } from "./navigation.ts";

const loadPalette = () => import("./palette.tsx");
const loadOverlays = () => import("./overlays.tsx");
const NavigationDrawer = lazy(async () => ({ default: (await loadOverlays()).NavigationDrawer }));
const Palette = lazy(async () => ({ default: (await loadPalette()).Palette }));
const ShortcutList = lazy(async () => ({ default: (await loadOverlays()).ShortcutList }));

/** Preload overlays after the first page: they then open without a delay, and also while the control plane is down. */
const PRELOAD_AFTER_MS = 2_000;

function usePreloadedOverlays(): void {
  useEffect(() => {
    const timer = setTimeout(() => void Promise.allSettled([loadOverlays(), loadPalette()]), PRELOAD_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
}

type Overlay = "palette" | "shortcuts" | "navigation" | undefined;

/** Header, navigation and overlays around every page for a signed-in member. Default content: the route's page. */
export function Shell({ children = <Outlet /> }: { children?: ReactNode }) {
  const [overlay, setOverlay] = useState<Overlay>();
  const [typed, setTyped] = useState("");
  const close = () => {
    setOverlay(undefined);
    setTyped("");
  };
  useEffect(() => followChanges(queryClient), []);
  usePreloadedOverlays();
  useOverlayKeys(overlay, { onClose: close, onText: (edit) => setTyped(edit) });
  useShortcuts({ onPalette: () => setOverlay("palette"), onList: () => setOverlay("shortcuts") });
  return (
    <>
      <a
        href="#main"
        className="bg-accent-fill text-on-accent fixed top-2 left-2 z-50 -translate-y-20 rounded-md px-3 py-1.5 text-sm font-medium focus:translate-y-0"
        onClick={(event) => {
          // The router would treat a changed hash as a navigation.
          event.preventDefault();
          document.getElementById("main")?.focus();
        }}
      >
        Skip to content
      </a>
      <Frame
        header={<Header onPalette={() => setOverlay("palette")} onNavigation={() => setOverlay("navigation")} />}
        sidebar={<Sidebar />}
      >
        {children}
      </Frame>
      <ConnectionBar />
      <Suspense>
        {overlay === "navigation" && <NavigationDrawer onClose={close} />}
        {overlay === "palette" && <Palette typed={typed} onTyped={setTyped} onClose={close} />}
        {overlay === "shortcuts" && <ShortcutList onClose={close} />}
      </Suspense>
    </>
  );
}

/** Says that the page's data may be out of date while the live feed is disconnected. Covers the page's edge, so nothing moves. */
function ConnectionBar() {
  const since = useSignal(staleSince);
  const shownZone = useSignal(zone);
  return (
    // The live region exists from the start: screen readers announce only changes within it.
    <div
      role="status"
      aria-label="Connection"
      className="pointer-events-none fixed inset-x-3 bottom-3 z-30 flex justify-center"
    >
      {since !== undefined && (
        <div className="border-line bg-warn-soft text-warn shadow-raised pointer-events-auto flex items-center gap-2 rounded-lg border py-1 pr-1 pl-3 text-sm">
          <Icon name="running" className="animate-turn" />
          <span>Reconnecting… Data as of {formatTime(since, shownZone)}</span>
          <Button look="ghost" size="small" onClick={reconnectNow}>
            Reconnect now
          </Button>
        </div>
      )}
    </div>
  );
}

/** While an overlay loads, keys belong to it: text goes to the palette's field, and the page's shortcuts do not act. */
function useOverlayKeys(
  overlay: Overlay,
  { onClose, onText }: { onClose: () => void; onText: (edit: (typed: string) => string) => void },
): void {
  const onKey = (event: KeyboardEvent) => {
    const { key } = event;
    if (overlay === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.closest("[role=dialog]") !== null) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    if (key === "Escape") onClose();
    else if (overlay !== "palette") return;
    else if (key === "Backspace") onText((typed) => typed.slice(0, -1));
    // Names of other keys, such as Enter, are longer than one character.
    else if (Array.from(key).length === 1) onText((typed) => typed + key);
  };
  useKeydown(onKey, { capture: true });
}

/** How long a page's key may follow `g`. */
const SEQUENCE_MS = 1_500;

/** The shortcuts that work on every page. */
function useShortcuts({ onPalette, onList }: { onPalette: () => void; onList: () => void }): void {
  const navigate = useNavigate();
  const agentId = useCurrentAgentId();
  const rangeOf = useCarriedRange();
  const gAt = useRef(-Infinity);

  const goTo = (key: string): boolean => {
    const page = ORGANISATION_PAGES.find((page) => page.key === key);
    if (page) void navigate({ to: page.to, search: rangeOf(page) });
    const agentPage = agentId === undefined ? undefined : AGENT_PAGES.find((page) => page.key === key);
    if (agentPage && agentId !== undefined)
      void navigate({ to: agentPage.to, params: { agentId }, search: rangeOf(agentPage) });
    return page !== undefined || agentPage !== undefined;
  };

  useHotkeys((key, { timeStamp }) => {
    const afterG = timeStamp - gAt.current < SEQUENCE_MS;
    gAt.current = key === "g" ? timeStamp : -Infinity;
    if (afterG && goTo(key)) return true;
    if (key === "?") onList();
    else if (key === "/") return focusSearch() || (onPalette(), true);
    else return false;
    return true;
  });

  useKeydown((event) => {
    if (!(event.metaKey || event.ctrlKey) || event.key.toLowerCase() !== "k") return;
    event.preventDefault();
    onPalette();
  });
}

function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>("[data-search-field]");
  field?.focus();
  field?.select();
  return field !== null;
}
