import type { Change } from "@patchbay/protocol/console";

type Topic = Change["topics"][number];

/**
 * Opens the stream, and gives it an id that a client names when it comes again: then it may have missed something. An id alone
 * is no event.
 */
const OPENING = "retry: 1000\nid: live\n\n";
const KEEPALIVE = ": keepalive\n\n";

/** One client that is told of changes. What it has not read yet is gathered into one event. */
export interface ChangeStream {
  readonly body: ReadableStream<Uint8Array>;
  tell(topics: readonly Topic[]): void;
  end(): void;
}

export function createChangeStream(options: {
  /** Topics to begin with: what a client that comes again may have missed. */
  missed: readonly Topic[];
  keepaliveMs: number;
  /** Called once, when it has ended for whatever reason. */
  onEnd(): void;
}): ChangeStream {
  const { keepaliveMs, onEnd } = options;
  const pending = new Set<Topic>(options.missed);
  let text = OPENING;
  let over = false;
  let cancelled = false;
  let wake: (() => void) | undefined;
  const timer = setInterval(() => {
    text ||= KEEPALIVE;
    wake?.();
  }, keepaliveMs).unref();

  const idle = (): boolean => !over && text === "" && pending.size === 0;

  function end(): void {
    if (over) return;
    over = true;
    clearInterval(timer);
    wake?.();
    onEnd();
  }

  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        while (idle()) await new Promise<void>((resolve) => (wake = resolve));
        // One that was cancelled meanwhile takes nothing more.
        if (cancelled) return;
        if (pending.size > 0) text = withEvent(text, [...pending]);
        pending.clear();
        if (text !== "") controller.enqueue(Buffer.from(text));
        text = "";
        if (over) controller.close();
      },
      cancel() {
        cancelled = true;
        end();
      },
    },
    { highWaterMark: 0 },
  );

  return {
    body,
    tell(topics) {
      for (const topic of topics) pending.add(topic);
      wake?.();
    },
    end,
  };
}

/** An event says as much as a keepalive. */
function withEvent(text: string, topics: Topic[]): string {
  const change: Change = { topics };
  return `${text === KEEPALIVE ? "" : text}event: change\ndata: ${JSON.stringify(change)}\n\n`;
}
