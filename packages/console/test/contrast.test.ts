import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const css = readFileSync(new URL("../src/styles/tokens.css", import.meta.url), "utf8");

function tokensOf(theme: string): Record<string, string> {
  const block = css.slice(css.indexOf(`[data-theme="${theme}"] {`)).split("}")[0] ?? "";
  return Object.fromEntries(
    [...block.matchAll(/--([a-z0-9-]+): (#[0-9a-f]{6});/g)].map(([, name, hex]) => [name, hex]),
  );
}

/** Relative luminance as defined by WCAG 2.2. */
function luminance(hex: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

function ratio(one: string, other: string): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

const BACKGROUNDS = ["page", "surface", "sunken", "raised", "hover"];
const TEXT_PAIRS = [
  ...["text", "muted", "faint", "accent"].flatMap((text) => BACKGROUNDS.map((background) => [text, background])),
  ...["ok", "bad", "warn", "info", "idle"].flatMap((state) =>
    [state + "-soft", "surface", "page", "raised"].map((background) => [state, background]),
  ),
  ...["accent-fill", "accent-fill-hover", "bad-fill", "bad-fill-hover"].map((background) => ["on-accent", background]),
  ["accent", "accent-soft"],
  ["text", "accent-soft"],
];
const SHAPE_PAIRS = [
  "edge",
  "focus",
  "series-1",
  "series-2",
  "series-3",
  "series-4",
  "series-5",
  "series-6",
  "mark-bad",
  "mark-ok",
  "mark-idle",
  "mark-info",
].map((shape) => [shape, "surface"]);

describe.each(["light", "dark"])("in the %s theme", (theme) => {
  const tokens = tokensOf(theme);
  test.each(TEXT_PAIRS.map((pair) => [pair]))("%s has the contrast of text, 4.5:1", ([text = "", background = ""]) => {
    expect(ratio(tokens[text]!, tokens[background]!)).toBeGreaterThanOrEqual(4.5);
  });
  test.each(SHAPE_PAIRS.map((pair) => [pair]))(
    "%s has the contrast of graphics, 3:1",
    ([shape = "", background = ""]) => {
      expect(ratio(tokens[shape]!, tokens[background]!)).toBeGreaterThanOrEqual(3);
    },
  );
});
