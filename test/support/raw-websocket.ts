import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A connection with a WebSocket upgrade written by hand, so that any bytes can follow. */
export interface RawWebSocket extends Disposable {
  readonly socket: Socket;
  /** The answer to the request, with its headers. */
  readonly head: string;
  /** True once the other side has closed or reset the connection. */
  readonly closed: Promise<void>;
}

/** Dials `/functions/connect` and asks for a WebSocket, offering `extensions`. */
export async function dialRaw(port: number, key: string, extensions?: string): Promise<RawWebSocket> {
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => void socket.once("close", () => resolve()));
  const lines = [
    "GET /functions/connect HTTP/1.1",
    "Host: localhost",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    `Authorization: Bearer ${key}`,
    ...(extensions === undefined ? [] : [`Sec-WebSocket-Extensions: ${extensions}`]),
  ];
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  let head = "";
  while (!head.includes("\r\n\r\n")) head += String((await once(socket, "data"))[0]);
  socket.resume();
  return { socket, head, closed, [Symbol.dispose]: () => void socket.destroy() };
}

/** One frame. Clients must set `mask`. `claimed` writes a length other than the payload's into the header. */
export function rawFrame(
  payload: Uint8Array,
  options: { opcode?: number; final?: boolean; compressed?: boolean; mask?: boolean; claimed?: number } = {},
): Buffer {
  const { opcode = 1, final = true, compressed = false, mask = true, claimed = payload.length } = options;
  const header = Buffer.alloc(10);
  header[0] = (final ? 0x80 : 0) | (compressed ? 0x40 : 0) | opcode;
  header[1] = (mask ? 0x80 : 0) | 127;
  header.writeBigUInt64BE(BigInt(claimed), 2);
  // A mask of zeros does not change the payload. Short frames must not use the long form of a length.
  const short = claimed < 126 ? Buffer.from([header[0], (mask ? 0x80 : 0) | claimed]) : undefined;
  const middle =
    claimed >= 126 && claimed < 65_536
      ? Buffer.from([header[0], (mask ? 0x80 : 0) | 126, claimed >> 8, claimed & 255])
      : undefined;
  return Buffer.concat([short ?? middle ?? header, ...(mask ? [Buffer.alloc(4)] : []), payload]);
}
