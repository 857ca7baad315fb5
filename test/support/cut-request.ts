import { connect } from "node:net";

/** The part of a response that a client received before its connection was cut. */
export interface CutAnswer {
  /** Undefined if the cut was before the end of the headers. */
  runId?: string;
  /** The bytes of the body, without the chunk framing of HTTP. */
  body: Buffer;
  /** True if the response is complete. */
  complete: boolean;
}

/** Sends a request on a new connection and cuts it after `cutAt` bytes of the response, including headers. */
export function requestAndCut(
  port: number,
  request: { method: string; path: string; headers: Record<string, string>; body?: string },
  cutAt = Infinity,
): Promise<CutAnswer> {
  const { method, path, headers, body = "" } = request;
  const lines = Object.entries({ host: "localhost", ...headers, "content-length": Buffer.byteLength(body) });
  const head = [`${method} ${path} HTTP/1.1`, ...lines.map(([name, value]) => `${name}: ${value}`)].join("\r\n");
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    const socket = connect(port, "127.0.0.1", () => socket.write(`${head}\r\nconnection: close\r\n\r\n${body}`));
    socket.on("data", (bytes: Buffer) => {
      pieces.push(bytes);
      size += bytes.length;
      if (size >= cutAt) socket.resetAndDestroy();
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(decode(Buffer.concat(pieces).subarray(0, cutAt))));
  });
}

function decode(raw: Buffer): CutAnswer {
  const headEnd = raw.indexOf("\r\n\r\n");
  if (headEnd === -1) return { body: Buffer.of(), complete: false };
  const runId = /^x-run-id: (\S+)$/im.exec(raw.subarray(0, headEnd).toString())?.[1];
  return { ...(runId !== undefined && { runId }), ...joinChunks(raw, headEnd + 4) };
}

function joinChunks(raw: Buffer, start: number): Pick<CutAnswer, "body" | "complete"> {
  const chunks: Buffer[] = [];
  for (let at = start; ;) {
    const sizeEnd = raw.indexOf("\r\n", at);
    const size = sizeEnd === -1 ? Number.NaN : Number.parseInt(raw.subarray(at, sizeEnd).toString(), 16);
    if (size > 0) chunks.push(raw.subarray(sizeEnd + 2, sizeEnd + 2 + size));
    at = sizeEnd + 2 + size + 2;
    if (size > 0 && at <= raw.length) continue;
    return { body: Buffer.concat(chunks), complete: size === 0 && raw.length >= at };
  }
}
