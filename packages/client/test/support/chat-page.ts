import { handleChat, type HandleChatOptions } from "../../src/index.ts";

export const SITE = "https://shop.example";

export const handlerFor = (url: string, options: Partial<HandleChatOptions> = {}) =>
  handleChat({ url, agent: "agt 1", key: "service_live_x", role: () => "customer", ...options });

export const MESSAGES = [{ id: "m1", role: "user", parts: [{ type: "text", text: "Where is my order?" }] }];

/** A message as `useChat` sends it. */
export function message(body: unknown = { id: "chat_1", messages: MESSAGES, trigger: "submit-message" }, headers = {}) {
  return new Request(`${SITE}/api/chat`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** Headers of an answer of the service. */
export const STREAM = {
  "Content-Type": "text/event-stream",
  "X-Vercel-AI-UI-Message-Stream": "v1",
  "X-Run-Id": "run_1",
};
