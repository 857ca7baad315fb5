import { AbstractChat, type ChatInit, type ChatState, DefaultChatTransport, type UIMessage } from "ai";

/** The state of a chat as `useChat` keeps it, without React. */
class PlainState implements ChatState<UIMessage> {
  status: ChatState<UIMessage>["status"] = "ready";
  error: Error | undefined = undefined;
  messages: UIMessage[];

  constructor(messages: UIMessage[]) {
    this.messages = messages;
  }
  pushMessage = (message: UIMessage): void => void (this.messages = [...this.messages, message]);
  popMessage = (): void => void (this.messages = this.messages.slice(0, -1));
  replaceMessage = (index: number, message: UIMessage): void =>
    void (this.messages = this.messages.with(index, structuredClone(message)));
  snapshot = <T>(value: T): T => structuredClone(value);
}

/** A chat of the AI SDK, as a page has it. */
export class UiChat extends AbstractChat<UIMessage> {
  constructor(
    api: string,
    { headers, messages = [], ...init }: ChatInit<UIMessage> & { headers: Record<string, string> },
  ) {
    const transport = new DefaultChatTransport({ api, headers });
    super({ ...init, transport, state: new PlainState(messages) });
  }

  /** Text parts of the messages, by role. */
  get texts(): string[] {
    return this.messages.map(
      ({ role, parts }) => `${role}: ${parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(" ")}`,
    );
  }

  /** Calls of the last message. */
  get calls() {
    const { parts = [] } = this.lastMessage ?? {};
    return parts.flatMap((part) => (part.type === "dynamic-tool" ? [part] : []));
  }
}
