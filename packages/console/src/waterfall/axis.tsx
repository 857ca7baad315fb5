import { useEffect, useState, type RefObject } from "react";
import { formatDuration } from "../format/times.ts";
import { classNames } from "../ui/class-names.ts";
import { formatTick, ticksOf } from "./scale.ts";

/** Round times along the head of the axis. */
export function TickLabels({ axisMs, most }: { axisMs: number; most: number }) {
  return ticksOf(axisMs, most).map((ms) => {
    const share = ms / axisMs;
    return (
      <span
        key={ms}
        className={classNames(
          "absolute top-0 whitespace-nowrap",
          ms > 0 && (share > 0.93 ? "-translate-x-full" : "-translate-x-1/2"),
        )}
        style={{ left: `${share * 100}%` }}
      >
        {ms === 0 ? "0" : formatTick(ms)}
      </span>
    );
  });
}

/** The same times as lines behind the bars. */
export function TickLines({ axisMs, most }: { axisMs: number; most: number }) {
  return ticksOf(axisMs, most).map((ms) => (
    <span key={ms} className="bg-line absolute inset-y-0 w-px" style={{ left: `${(ms / axisMs) * 100}%` }} />
  ));
}

/** A line under the pointer with the time that it stands at. `axis` is the box that the bars are measured in. */
export function Cursor({ axis, axisMs }: { axis: RefObject<HTMLElement | null>; axisMs: number }) {
  const [at, setAt] = useState<{ share: number; y: number }>();
  useEffect(() => {
    const box = axis.current;
    const area = box?.parentElement;
    if (!box || !area) return undefined;
    const move = (event: PointerEvent): void => {
      const { left, width, top } = box.getBoundingClientRect();
      const share = (event.clientX - left) / width;
      setAt(event.pointerType === "mouse" && share >= 0 && share <= 1 ? { share, y: event.clientY - top } : undefined);
    };
    const leave = (): void => setAt(undefined);
    area.addEventListener("pointermove", move);
    area.addEventListener("pointerleave", leave);
    return () => {
      area.removeEventListener("pointermove", move);
      area.removeEventListener("pointerleave", leave);
    };
  }, [axis]);
  if (!at) return null;
  return (
    <>
      <span className="bg-accent absolute inset-y-0 z-1 w-px" style={{ left: `${at.share * 100}%` }} />
      <span
        className={classNames(
          "border-line bg-raised text-text text-2xs absolute z-1 -translate-y-full rounded border px-1 whitespace-nowrap",
          at.share > 0.8 ? "-translate-x-[calc(100%+6px)]" : "translate-x-1.5",
        )}
        style={{ left: `${at.share * 100}%`, top: `${at.y}px` }}
      >
        {formatDuration(at.share * axisMs)}
      </span>
    </>
  );
}
