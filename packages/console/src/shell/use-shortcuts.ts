import { useNavigate, useParams } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useRef } from "react";
import { useHotkeys } from "../state/hotkeys.ts";
import { AGENT_PAGES, ORGANISATION_PAGES } from "./navigation.ts";

/** How long g waits for the letter of a page. */
const SEQUENCE_MS = 1_500;

/** Keys that work on every page. */
export function useShortcuts({ onPalette, onList }: { onPalette: () => void; onList: () => void }): void {
  const navigate = useNavigate();
  const { agentId } = useParams({ strict: false });
  const gAt = useRef(-Infinity);

  const goTo = (key: string): boolean => {
    const page = ORGANISATION_PAGES.find((page) => page.key === key);
    if (page) void navigate({ to: page.to });
    const agentPage = agentId === undefined ? undefined : AGENT_PAGES.find((page) => page.key === key);
    if (agentPage && agentId !== undefined) void navigate({ to: agentPage.to, params: { agentId } });
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

  const onModK = useEffectEvent((event: KeyboardEvent) => {
    if (!(event.metaKey || event.ctrlKey) || event.key.toLowerCase() !== "k") return;
    event.preventDefault();
    onPalette();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => onModK(event);
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);
}

function focusSearch(): boolean {
  const field = document.querySelector<HTMLInputElement>("[data-search-field]");
  field?.focus();
  field?.select();
  return field !== null;
}
