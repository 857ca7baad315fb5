/** An account at OpenAI, or at a server compatible with it. */
export interface OpenaiConfig {
  apiKey: string;
  /** With `/v1`. Default: OpenAI's own. */
  baseUrl?: string;
}
