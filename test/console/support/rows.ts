/** True in `.ci/full`, where tests of the layout try every width in both themes. */
export const ALL_WIDTHS = process.env["PATCHBAY_TEST_WIDTHS"] === "all";

/** The first and the last of `rows`, the narrowest and the widest; all of them in `.ci/full`. */
export function edgesOf<const Row>(rows: readonly Row[]): readonly Row[] {
  return ALL_WIDTHS ? rows : rows.filter((_, i) => i === 0 || i === rows.length - 1);
}
