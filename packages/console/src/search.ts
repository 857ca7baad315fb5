/** Reads one search parameter: undefined where it is absent or makes no sense, since anybody may write a URL. */
type Read<T> = (value: unknown) => T | undefined;

export const text: Read<string> = (value) => (typeof value === "string" && value !== "" ? value : undefined);

export const flag: Read<"1"> = (value) => (value === "1" ? "1" : undefined);

export const oneOf =
  <T extends string>(...words: T[]): Read<T> =>
  (value) =>
    words.find((word) => word === value);

export const instant: Read<string> = (value) =>
  typeof value === "string" && !Number.isNaN(Date.parse(value)) ? value : undefined;

/** The search parameters of a route: each absent or sensible. Values are texts, as they stand in the URL. */
export function searchOf<Shape extends Record<string, Read<string>>>(shape: Shape) {
  return (raw: Record<string, unknown>) => {
    const known = Object.entries(shape).map(([name, read]) => [name, read(raw[name])] as const);
    return Object.fromEntries(known.filter(([, value]) => value !== undefined)) as {
      [Name in keyof Shape]?: Exclude<ReturnType<Shape[Name]>, undefined> | undefined;
    };
  };
}

/** Plain parameters: `?status=failed&q=late`, no JSON. */
export const parseSearch = (search: string): Record<string, string> => Object.fromEntries(new URLSearchParams(search));

export function stringifySearch(search: Record<string, unknown>): string {
  const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== "");
  const params = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return given.length === 0 ? "" : `?${params}`;
}
