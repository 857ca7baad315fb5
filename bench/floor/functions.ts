import { WebSocket } from "ws";
import { z } from "zod";
import { orderOf } from "../models.ts";
import { CallFrame } from "./frames.ts";

/** The floor's function process. */
const inputs = { look_up_order: z.object({ orderId: z.string() }), echo: z.object({ text: z.string() }) };

function answer(name: string, input: unknown): unknown {
  if (name === "echo") return inputs.echo.parse(input);
  return orderOf(inputs.look_up_order.parse(input).orderId);
}

function dial(url: string): void {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  socket.on("error", () => {});
  socket.on("close", () => setTimeout(() => dial(url), 20));
  socket.on("message", (data: Buffer) => {
    const { id, name, input } = CallFrame.parse(JSON.parse(data.toString()));
    socket.send(JSON.stringify({ id, value: answer(name, input) }));
  });
}

dial(process.argv[2] ?? "");
