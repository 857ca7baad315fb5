/** An account at OpenAI, or at a server that speaks its language. */
export interface OpenaiConfig {
  apiKey: string;
  /** With `/v1`. Default: OpenAI's own. */
  baseUrl?: string;
}
