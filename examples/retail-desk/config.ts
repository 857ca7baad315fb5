/** The folder in RETAIL_DATA; undefined for generated data. */
export function retailDataFolder(): string | undefined {
  return process.env["RETAIL_DATA"] || undefined;
}
