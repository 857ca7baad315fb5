import { isJsonObject } from "@patchbay/kit";

/** A number field's bounds. */
export interface Bounds {
  min: number;
  max: number;
  whole: boolean;
}

/** The error for a number as typed. An empty field has none. */
export function checkNumber(text: string, { min, max, whole }: Bounds): string | undefined {
  if (text.trim() === "") return undefined;
  const value = Number(text);
  if (value >= min && value <= max && (!whole || Number.isInteger(value))) return undefined;
  const shown = (bound: number) => bound.toLocaleString("en-US", { maximumFractionDigits: 6 });
  return `Enter a ${whole ? "whole number" : "number"} from ${shown(min)} to ${shown(max)}.`;
}

/** The error for a JSON object as typed. An empty field has none. */
export function checkObject(text: string, example: string): string | undefined {
  if (text.trim() === "") return undefined;
  try {
    return isJsonObject(JSON.parse(text)) ? undefined : `Enter a JSON object such as ${example}.`;
  } catch (error) {
    return error instanceof Error ? error.message : "Invalid JSON.";
  }
}
