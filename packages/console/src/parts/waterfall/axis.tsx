import { type RefObject, useEffect, useState } from "react";
import { formatDuration } from "../../format/times.ts";
import { classNames } from "../../ui/class-names.ts";

/** Labels for round times. */
export function TickLabels({ axisMs, maxTicks }: { axisMs: number; maxTicks: number }) {
  return ticksOf(axisMs, maxTicks).map((ms) => {
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

/** Grid lines at round times, behind the bars. */
export function TickLines({ axisMs, maxTicks }: { axisMs: number; maxTicks: number }) {
  return ticksOf(axisMs, maxTicks).map((ms) => (
    <span key={ms} className="bg-line absolute inset-y-0 w-px" style={{ left: `${(ms / axisMs) * 100}%` }} />
  ));
}

/** A line at the pointer with its time. `axis` is the element that the bars are positioned in. */
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

const STEPS_MS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  1_800_000, 3_600_000,
];

/** Round times from 0 to `endMs`: zero and at most `maxTicks` others. */
export function ticksOf(endMs: number, maxTicks: number): number[] {
  const stepMs = STEPS_MS.find((step) => endMs / step <= maxTicks) ?? endMs / maxTicks;
  return Array.from({ length: Math.floor(endMs / stepMs) + 1 }, (_, index) => index * stepMs);
}

/** 50 ms, 1.5 s, 2 m, 1 m 30 s */
export function formatTick(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${ms / 1_000} s`;
  const seconds = Math.round((ms % 60_000) / 1_000);
  return `${Math.floor(ms / 60_000)} m${seconds === 0 ? "" : ` ${seconds} s`}`;
}

const AXIS_ENDS = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];

/** The axis end: the run's end, or a round time after now while it runs, so that the axis changes rarely. */
export function axisEndOf(lastMs: number, running: boolean): number {
  const minMs = Math.max(1, lastMs);
  if (!running) return minMs;
  const targetMs = Math.max(20, minMs * 1.1);
  const size = 10 ** Math.floor(Math.log10(targetMs));
  return (AXIS_ENDS.find((end) => end * size >= targetMs) ?? 10) * size;
}
