import { reconnectNow, staleSince } from "../api/live.ts";
import { formatTime } from "../format/times.ts";
import { useSignal, zone } from "../state/signals.ts";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";

/** Says that the page's data may be out of date while the live feed is disconnected. Covers the page's edge, so nothing moves. */
export function ConnectionBar() {
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
