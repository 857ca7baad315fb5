export {
  createClient,
  type AgentClient,
  type CallToCheck,
  type ClientOptions,
  type FollowRunOptions,
  type PageOptions,
  type Query,
  type QueryOptions,
  type QueryStreamOptions,
  type RequestOptions,
  type RetryOptions,
  type RunsOptions,
} from "./client.ts";
export { handleChat, type HandleChatOptions } from "./handle-chat.ts";
export { PatchbayError, type PatchbayErrorCode } from "./patchbay-error.ts";
export { followEvents, type FollowEventsOptions, type StreamedEvent } from "./follow-events.ts";
export { verifyWebhook, WebhookSignatureError, type VerifyWebhookOptions } from "./verify-webhook.ts";
export { readServerSentEvents, type ServerSentEvent } from "./server-sent-events.ts";
