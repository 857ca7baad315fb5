import type { ValueTicks } from "./value-ticks.ts";

/** Where things stand within a chart, in pixels. */
export interface Plot {
  left: number;
  top: number;
  width: number;
  height: number;
  /** Of one step. */
  band: number;
  /** Middle of a step. */
  x: (index: number) => number;
  y: (value: number) => number;
  /** The step at a place. */
  indexAt: (x: number) => number;
}

export const AXIS_HEIGHT = 24;
const TOP = 8;
const RIGHT = 4;
/** Of a letter at the axis' size, a little too much. */
const LETTER = 7;

export function plotOf(
  size: { width: number; height: number; steps: number },
  ticks: ValueTicks,
  labels: readonly string[],
): Plot {
  const left = Math.ceil(Math.max(...labels.map((label) => label.length)) * LETTER) + 10;
  const width = Math.max(0, size.width - left - RIGHT);
  const height = size.height - TOP - AXIS_HEIGHT;
  const band = width / Math.max(1, size.steps);
  return {
    left,
    top: TOP,
    width,
    height,
    band,
    x: (index) => left + (index + 0.5) * band,
    y: (value) => TOP + height * (1 - value / ticks.top),
    indexAt: (x) => Math.min(size.steps - 1, Math.max(0, Math.floor((x - left) / band))),
  };
}
