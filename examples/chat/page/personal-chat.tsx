import { generateId, type UIMessage } from "ai";
import { useCallback, useEffect, useState } from "react";
import type { Person } from "../people.ts";
import { askServer } from "./ask-server.ts";
import { Chat } from "./chat.tsx";

interface Opened {
  chatId: string;
  messages: UIMessage[];
  /** Grows with each reading, so that a chat that is read again is shown as after a reload. */
  reading: number;
}

/** The chat that a person had open, read from the service. */
export function PersonalChat({ person }: { person: Person }) {
  const remembered = `chat of ${person.id}`;
  const [opened, setOpened] = useState<Opened>();
  const [error, setError] = useState<string>();

  const open = useCallback(
    async (chatId: string) => {
      localStorage.setItem(remembered, chatId);
      try {
        const messages = await readMessages(chatId);
        setOpened((before) => ({ chatId, messages, reading: (before?.reading ?? 0) + 1 }));
      } catch (thrown) {
        setError((thrown as Error).message);
      }
    },
    [remembered],
  );
  useEffect(() => void open(localStorage.getItem(remembered) ?? generateId()), [open, remembered]);

  if (error !== undefined) return <p role="alert">{error}</p>;
  if (!opened) return null;
  const { chatId, messages, reading } = opened;
  return (
    <Chat
      key={reading}
      chatId={chatId}
      messages={messages}
      suggestions={person.suggestions}
      onNew={() => open(generateId())}
      onStale={() => open(chatId)}
    />
  );
}

/** Every page of the chat, oldest first. */
async function readMessages(chatId: string): Promise<UIMessage[]> {
  const messages: UIMessage[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const path = `/api/chat/${encodeURIComponent(chatId)}/messages?cursor=${encodeURIComponent(cursor)}`;
    const page: { messages: UIMessage[]; nextCursor: string | null } = await askServer("GET", path);
    messages.push(...page.messages);
    cursor = page.nextCursor;
  }
  return messages;
}
