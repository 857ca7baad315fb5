import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, isToolUIPart, type UIMessage } from "ai";
import { type FormEvent, useEffect, useState } from "react";
import { askServer, readError } from "./ask-server.ts";
import { Message } from "./message.tsx";

interface ChatProps {
  chatId: string;
  /** The chat so far. */
  messages: UIMessage[];
  suggestions: string[];
  onNew: () => void;
  /** Called when the service may have more of the chat than the page, which then reads it again. */
  onStale: () => void;
}

const WAIT_MS = 1_000;

const transport = new DefaultChatTransport({ api: "/api/chat" });

/** One chat. An answer in progress, as after a reload, is followed to its end. */
export function Chat({ chatId, messages: stored, suggestions, onNew, onStale }: ChatProps) {
  const { messages, sendMessage, status, error } = useChat({ id: chatId, messages: stored, transport, resume: true });
  const [text, setText] = useState("");
  const isAnswering = status === "submitted" || status === "streaming";
  const isWaiting = messages.at(-1)?.parts.some((part) => isToolUIPart(part) && part.state === "approval-requested");

  // The answer ended after the page had read the messages, and before it asked for the stream.
  const isUnanswered = status === "ready" && messages.at(-1)?.role === "user";
  useEffect(() => {
    if (!isUnanswered) return undefined;
    const timer = setTimeout(onStale, WAIT_MS);
    return () => clearTimeout(timer);
  }, [isUnanswered, onStale]);

  function send(event: FormEvent) {
    event.preventDefault();
    void sendMessage({ text });
    setText("");
  }

  return (
    <main>
      <ol aria-label="Messages" aria-live="polite" aria-busy={isAnswering}>
        {messages.map((message) => (
          <Message key={message.id} message={message} onDecided={onStale} />
        ))}
      </ol>
      {error && <p role="alert">{readError(error.message)}</p>}
      {messages.length === 0 && (
        <ul aria-label="Suggestions">
          {suggestions.map((suggestion) => (
            <li key={suggestion}>
              <button type="button" onClick={() => void sendMessage({ text: suggestion })}>
                {suggestion}
              </button>
            </li>
          ))}
        </ul>
      )}
      <form onSubmit={send}>
        <input aria-label="Message" value={text} onChange={({ target }) => setText(target.value)} autoComplete="off" />
        {isAnswering || isWaiting ? (
          // Closing the stream would not end the answer: the server asks for that.
          <button type="button" onClick={() => void askServer("POST", `/api/chat/${encodeURIComponent(chatId)}/stop`)}>
            Stop
          </button>
        ) : (
          <button disabled={text.trim() === ""}>Send</button>
        )}
        <button type="button" disabled={messages.length === 0} onClick={onNew}>
          New chat
        </button>
      </form>
    </main>
  );
}
