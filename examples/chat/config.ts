/** What `main.ts` reads from the environment. */
export const config = {
  port: Number(process.env["PORT"] ?? 3000),
  /** Without a key, the offline model answers. */
  anthropicKey: process.env["ANTHROPIC_API_KEY"],
};
