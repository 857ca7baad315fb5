import { type PointerEvent, type ReactNode, useEffect, useId, useLayoutEffect, useRef, useState } from "react";

const DELAY_MS = 300;
/** Time for the pointer to move from the element to the tooltip. */
const GRACE_MS = 120;
const GAP_PX = 6;

/** When the last tooltip closed: soon after, another opens without a delay. */
let closedAt = -Infinity;

interface TooltipProps {
  content: ReactNode;
  describes?: boolean;
  children: ReactNode;
}

/**
 * A short explanation on hover and focus; put essential information on the page instead. `children` is one element. With `describes`
 * the text is also the accessible description of the element.
 *
 * Not the tooltip of Base UI: it would add 28 kB gzip to the first load of 147 kB, because every icon button has a tooltip.
 */
export function Tooltip({ content, describes = false, children }: TooltipProps) {
  const wrapper = useRef<HTMLSpanElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [shown, setShown] = useState(false);
  const descriptionId = useId();

  const turn = (next: boolean, afterMs = 0): void => {
    clearTimeout(timer.current);
    if (next === shown) return;
    const now = (): void => {
      if (!next) closedAt = performance.now();
      setShown(next);
    };
    if (afterMs === 0) now();
    else timer.current = setTimeout(now, afterMs);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    if (describes) wrapper.current?.firstElementChild?.setAttribute("aria-describedby", descriptionId);
  }, [describes, descriptionId]);

  const onPointerEnter = ({ pointerType }: PointerEvent): void => {
    if (pointerType !== "touch") turn(true, performance.now() - closedAt < DELAY_MS ? 0 : DELAY_MS);
  };
  return (
    // display: contents, so that only the element takes part in the layout.
    <span
      ref={wrapper}
      className="contents"
      onPointerEnter={onPointerEnter}
      onPointerLeave={() => turn(false, GRACE_MS)}
      onPointerDown={() => turn(false)}
      onFocus={({ target }) => target.matches(":focus-visible") && turn(true)}
      onBlur={() => turn(false)}
    >
      {children}
      {describes && (
        <span id={descriptionId} hidden>
          {content}
        </span>
      )}
      {shown && <Bubble onClose={() => turn(false)}>{content}</Bubble>}
    </span>
  );
}

/** Shown in the top layer, above its previous sibling, or below if there is no space. */
function Bubble({ onClose, children }: { onClose: () => void; children: ReactNode }) {
  const bubble = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    const element = bubble.current;
    const anchor = element?.parentElement?.firstElementChild;
    if (!element || !anchor) return;
    if (!element.matches(":popover-open")) element.showPopover();
    place(element, anchor.getBoundingClientRect());
  });
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    document.addEventListener("keydown", ({ key }) => key === "Escape" && onClose(), { signal });
    document.addEventListener("scroll", onClose, { signal, capture: true });
    return () => leaving.abort();
  }, [onClose]);
  return (
    <span
      ref={bubble}
      role="tooltip"
      popover="manual"
      className="animate-appear border-line bg-raised text-text shadow-raised fixed inset-auto m-0 w-max max-w-[min(18rem,calc(100vw-1rem))] rounded-md border px-2 py-1 text-left font-sans text-xs font-normal whitespace-normal"
    >
      {children}
    </span>
  );
}

function place(element: HTMLElement, anchor: DOMRect): void {
  const { offsetWidth, offsetHeight } = element;
  const { clientWidth } = document.documentElement;
  const left = anchor.left + anchor.width / 2 - offsetWidth / 2;
  const above = anchor.top - GAP_PX - offsetHeight;
  element.style.left = `${Math.max(GAP_PX, Math.min(left, clientWidth - offsetWidth - GAP_PX))}px`;
  element.style.top = `${above >= GAP_PX ? above : anchor.bottom + GAP_PX}px`;
}
