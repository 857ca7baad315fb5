import { useEffect, useRef } from "react";

const NEAR_PX = 120;

const atEnd = (): boolean => document.documentElement.scrollHeight - window.innerHeight - window.scrollY < NEAR_PX;

/** Text is set, and parts load, a moment after the last change. */
const SETTLING_MS = 800;

/** Keeps the end of the page in view while `growing`, unless the person scrolled away from it. Put the ref on what grows. */
export function useFollowEnd<T extends HTMLElement>(growing: boolean) {
  const ref = useRef<T>(null);
  useEffect(() => {
    const element = ref.current;
    if (!growing || !element) return undefined;
    let following = true;
    const onScroll = (): void => {
      following = atEnd();
    };
    const observer = new ResizeObserver(() => {
      if (following) window.scrollTo({ top: document.documentElement.scrollHeight });
    });
    const stop = (): void => {
      observer.disconnect();
      window.removeEventListener("scroll", onScroll);
    };
    observer.observe(element);
    window.addEventListener("scroll", onScroll, { passive: true });
    return () => void setTimeout(stop, SETTLING_MS);
  }, [growing]);
  return ref;
}
