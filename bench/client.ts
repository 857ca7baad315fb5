import { connect, type Socket } from "node:net";
import type { LoadRequest } from "./jobs.ts";

export interface Answer {
  status: number;
  body: string;
}

export type Client = ReturnType<typeof clientOn>;

export function requestBytes({ path, headers, body }: LoadRequest): Buffer {
  const named = Object.entries({ host: "127.0.0.1", "content-type": "application/json", ...headers }).map(
    ([key, value]) => `${key}: ${value}`,
  );
  const head = [`POST ${path} HTTP/1.1`, ...named, `content-length: ${Buffer.byteLength(body)}`];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}

/** One keep-alive connection that sends one request at a time, with as little CPU time as possible. */
export async function openClient(port: number): Promise<Client> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  return clientOn(socket);
}

interface Pending {
  answer: PromiseWithResolvers<Answer>;
  onText: ((body: string) => void) | undefined;
}

function clientOn(socket: Socket) {
  let pending: Pending | undefined;
  let reader = createReader();

  function fail(error: Error): void {
    pending?.answer.reject(error);
    pending = undefined;
  }
  socket.setEncoding("latin1");
  socket.on("error", fail);
  socket.on("close", () => fail(new Error(`the connection closed during an answer: ${reader.seen()}`)));
  socket.on("data", (text: string) => {
    const before = reader.bodyLength();
    const answer = reader.push(text);
    if (pending?.onText && reader.bodyLength() > before) pending.onText(reader.body());
    if (!answer) return;
    const { resolve } = pending!.answer;
    pending = undefined;
    reader = createReader();
    resolve(answer);
  });
  return {
    /** `onText` receives the whole body so far, whenever more of it arrives. */
    send(request: Buffer, onText?: (body: string) => void): Promise<Answer> {
      pending = { answer: Promise.withResolvers<Answer>(), onText };
      socket.write(request);
      return pending.answer.promise;
    },
    close: () => socket.destroy(),
  };
}

/** Reads one response, framed by its length or by chunks. */
function createReader() {
  let raw = "";
  let body = "";
  let status = 0;
  /** Bytes of the body not yet read, by Content-Length; -1 before the head. */
  let left = -1;
  let chunked = false;

  function readHead(): boolean {
    const end = raw.indexOf("\r\n\r\n");
    if (end === -1) return false;
    const head = raw.slice(0, end);
    status = Number(head.slice(9, 12));
    chunked = /\r\ntransfer-encoding: *chunked/i.test(head);
    left = chunked ? 0 : Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
    raw = raw.slice(end + 4);
    return true;
  }

  /** True at the end of the last chunk. */
  function readChunks(): boolean {
    let at = 0;
    for (;;) {
      const line = raw.indexOf("\r\n", at);
      if (line === -1) break;
      const size = Number.parseInt(raw.slice(at, line), 16);
      const end = line + 2 + size;
      if (raw.length < end + 2) break;
      if (size === 0) return true;
      body += raw.slice(line + 2, end);
      at = end + 2;
    }
    raw = raw.slice(at);
    return false;
  }

  return {
    seen: () => `${status} ${body.slice(-300)}`,
    body: () => body,
    bodyLength: () => body.length,
    push(text: string): Answer | undefined {
      raw += text;
      if (left === -1 && !readHead()) return undefined;
      if (chunked) return readChunks() ? { status, body } : undefined;
      body += raw;
      raw = "";
      return body.length >= left ? { status, body } : undefined;
    },
  };
}
