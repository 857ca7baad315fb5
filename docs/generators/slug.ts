/** The anchor that GitHub makes of a heading: lower case, without punctuation, with dashes for spaces. The site makes the same. */
export const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
