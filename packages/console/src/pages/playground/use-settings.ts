import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { searchOfSettings, settingsOf, type Settings } from "./settings.ts";

const route = getRouteApi("/shell/agents/$agentId/playground");
const TYPING_MS = 300;

/**
 * The settings, at first `initial` or what the URL says, and how to change them. They count at once, so that a query is never sent as a role that was typed before; the
 * URL follows when typing pauses. A URL that changes from elsewhere sets them.
 */
export function useSettings(initial?: Settings): [Settings, (changed: Partial<Settings>) => void] {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [settings, setSettings] = useState(() => initial ?? settingsOf(search));
  const inUrl = JSON.stringify(searchOfSettings(settingsOf(search)));
  const [seen, setSeen] = useState(inUrl);
  const [written, setWritten] = useState(inUrl);
  if (inUrl !== seen) {
    setSeen(inUrl);
    if (inUrl !== written) setSettings(settingsOf(search));
  }
  const wanted = JSON.stringify(searchOfSettings(settings));
  useEffect(() => {
    if (wanted === inUrl) return undefined;
    const timer = setTimeout(() => {
      setWritten(wanted);
      const changed = searchOfSettings(settings);
      void navigate({
        search: (before) => ({ ...before, ...changed, again: undefined }),
        replace: true,
        resetScroll: false,
      });
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [wanted, inUrl, navigate]);
  return [settings, (changed) => setSettings((before) => ({ ...before, ...changed }))];
}
