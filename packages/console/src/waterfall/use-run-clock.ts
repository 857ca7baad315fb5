import { useEffect, useState } from "react";
import { useMedia } from "../ui/use-media.ts";

/** How often the clock moves where motion is not wanted. */
const STILL_MS = 1_000;

/**
 * Milliseconds of a run so far, with every frame while it goes on. `knownMs` is what the service said at `knownAt` on the page's
 * clock; it never goes back, as the two clocks may differ a little between answers.
 */
export function useRunClock({ running, knownMs, knownAt }: { running: boolean; knownMs: number; knownAt: number }) {
  const still = useMedia("(prefers-reduced-motion: reduce)");
  const [nowMs, setNowMs] = useState(knownMs);
  useEffect(() => {
    if (!running) return undefined;
    const move = () => setNowMs((before) => Math.max(before, knownMs + Date.now() - knownAt));
    if (still) {
      const timer = setInterval(move, STILL_MS);
      return () => clearInterval(timer);
    }
    let frame = requestAnimationFrame(function draw() {
      move();
      frame = requestAnimationFrame(draw);
    });
    return () => cancelAnimationFrame(frame);
  }, [running, still, knownMs, knownAt]);
  return running ? Math.max(nowMs, knownMs) : knownMs;
}
