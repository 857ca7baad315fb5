import { type KeyboardEvent, type ReactNode, useRef } from "react";
import { type Signal, storedNumber, useSignal } from "../state/signals.ts";

/** Limits for a side panel's width, in percent of both columns. */
const MIN = 20;
const MAX = 75;
const STEP = 2;

/** A side panel's width in percent, kept in this browser. */
export const panelWidth = (name: string, preset: number): PanelWidth => ({
  stored: storedNumber(`width.${name}`, { preset, min: MIN, max: MAX }),
  preset,
});

interface PanelWidth {
  stored: Signal<number>;
  preset: number;
}

interface ResizableProps {
  width: PanelWidth;
  children: ReactNode;
  /** The panel at the right. Without it, `children` has the whole width. */
  panel: ReactNode;
}

/** Two columns with a handle between them. The pointer and arrow keys move it; a double click and Enter reset it. */
export function Resizable({ width: { stored, preset }, children, panel }: ResizableProps) {
  const percent = useSignal(stored);
  const columns = useRef<HTMLDivElement>(null);
  const set = (next: number): void => stored.set(Math.round(Math.min(MAX, Math.max(MIN, next)) * 10) / 10);
  const moveTo = (x: number): void => {
    const { right, width } = columns.current!.getBoundingClientRect();
    set(((right - x) / width) * 100);
  };
  const onKey = (event: KeyboardEvent): void => {
    const widths: Record<string, number> = {
      ArrowLeft: percent + STEP,
      ArrowRight: percent - STEP,
      Home: MAX,
      End: MIN,
      Enter: preset,
    };
    const next = widths[event.key];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    set(next);
  };
  // One element in both cases: `children` keeps its state and focus when the panel opens.
  return (
    <div
      ref={columns}
      className="grid min-w-0 items-start"
      style={{ gridTemplateColumns: panel ? `minmax(0, 1fr) 1rem minmax(18rem, ${percent}%)` : "minmax(0, 1fr)" }}
    >
      {children}
      {panel && (
        <div
          role="separator"
          aria-orientation="vertical"
          aria-label="Panel width"
          aria-valuenow={percent}
          aria-valuemin={MIN}
          aria-valuemax={MAX}
          tabIndex={0}
          onKeyDown={onKey}
          onDoubleClick={() => set(preset)}
          onPointerDown={(event) => {
            // Otherwise the pointer selects text.
            event.preventDefault();
            event.currentTarget.setPointerCapture(event.pointerId);
          }}
          onPointerMove={(event) => event.currentTarget.hasPointerCapture(event.pointerId) && moveTo(event.clientX)}
          className="group flex h-full min-h-16 cursor-col-resize touch-none justify-center rounded-md"
        >
          <span
            aria-hidden="true"
            className="group-hover:bg-edge group-focus-visible:bg-edge h-full w-px transition-colors"
          />
        </div>
      )}
      {panel}
    </div>
  );
}
