/** The folder that RETAIL_DATA names; undefined means generated data. */
export function retailDataFolder(): string | undefined {
  return process.env["RETAIL_DATA"] || undefined;
}
