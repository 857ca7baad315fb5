import { type RefObject, useCallback, useLayoutEffect, useRef, useState, useSyncExternalStore } from "react";

/** Whether a media query matches; rerenders when that changes. Prefer CSS where it is enough. */
export function useMedia(query: string): boolean {
  const subscribe = useCallback(
    (listener: () => void) => {
      const media = matchMedia(query);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    [query],
  );
  return useSyncExternalStore(subscribe, () => matchMedia(query).matches);
}

/** An element's width in whole pixels; rerenders when it changes. 0 before the first layout. */
export const useWidth = <T extends HTMLElement>() => useMeasured<T>("width");

/** As `useWidth`, for the height. */
export const useHeight = <T extends HTMLElement>() => useMeasured<T>("height");

function useMeasured<T extends HTMLElement>(side: "width" | "height"): [ref: RefObject<T | null>, px: number] {
  const ref = useRef<T>(null);
  const [px, setPx] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    setPx(Math.floor(element.getBoundingClientRect()[side]));
    const observer = new ResizeObserver(([entry]) => entry && setPx(Math.floor(entry.contentRect[side])));
    observer.observe(element);
    return () => observer.disconnect();
  }, [side]);
  return [ref, px];
}
