import { createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { ARGUMENTS, FUNCTION, MODELS, PACE_MS, TOKENS, type Model } from "./models.ts";

/**
 * A model provider for the benchmark: OpenAI's Chat wire without delay and with as little work as possible. Answers are prepared
 * bytes, one HTTP chunk per event as providers send them; requests are searched, not parsed. It calls the function first, and
 * writes its tokens when the request ends with a result.
 */
const HEAD_END = Buffer.from("\r\n\r\n");
const usage = { prompt_tokens: 200, completion_tokens: 20, total_tokens: 220 };
const call = { id: "call_1", type: "function", function: { name: FUNCTION, arguments: JSON.stringify(ARGUMENTS) } };

const words = (model: Model): string[] => Array.from({ length: TOKENS[model] }, (_, i) => `token${i} `);

/** An id of its own for the answer that calls: LangGraph replaces a message by a later one with the same id. */
const CALLING = { id: "chatcmpl-2" };

function chunkOf(model: Model, choices: object[], more: object = {}): string {
  const data = {
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: MODELS[model],
    choices,
    ...more,
  };
  return framed(`data: ${JSON.stringify(data)}\n\n`);
}

const framed = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const choice = (delta: object, finish_reason: string | null = null): object[] => [{ index: 0, delta, finish_reason }];
const STREAM_HEAD =
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n";

function endOf(model: Model, reason: string, more: object = {}): string {
  const counted = chunkOf(model, [], { usage, ...more });
  return chunkOf(model, choice({}, reason), more) + counted + framed("data: [DONE]\n\n") + "0\r\n\r\n";
}

function callStream(model: Model): Buffer {
  const { id, type, function: asked } = call;
  const opened = { index: 0, id, type, function: { name: asked.name, arguments: "" } };
  const filled = { index: 0, function: { arguments: asked.arguments } };
  return Buffer.from(
    STREAM_HEAD +
      chunkOf(model, choice({ role: "assistant", content: null, tool_calls: [opened] }), CALLING) +
      chunkOf(model, choice({ tool_calls: [filled] }), CALLING) +
      endOf(model, "tool_calls", CALLING),
  );
}

function whole(model: Model, message: object, finish_reason: string, more: object = {}): Buffer {
  const choices = [{ index: 0, message: { role: "assistant", ...message }, finish_reason, logprobs: null }];
  const body = JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: MODELS[model],
    choices,
    usage,
    ...more,
  });
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return Buffer.from(head + body);
}

function answersOf(model: Model) {
  const tokens = words(model).map((content) => chunkOf(model, choice({ content })));
  const opening = STREAM_HEAD + chunkOf(model, choice({ role: "assistant", content: "" }));
  return {
    named: Buffer.from(`"model":"${MODELS[model]}"`),
    call: callStream(model),
    wholeCall: whole(model, { content: null, tool_calls: [call] }, "tool_calls", CALLING),
    wholeText: whole(model, { content: words(model).join("") }, "stop"),
    text: Buffer.from(opening + tokens.join("") + endOf(model, "stop")),
    opening: Buffer.from(opening),
    tokens: tokens.map((token) => Buffer.from(token)),
    ending: Buffer.from(endOf(model, "stop")),
    paced: model === "paced",
  };
}

type Answers = ReturnType<typeof answersOf>;
const answers = (Object.keys(MODELS) as Model[]).map(answersOf);
const RESULT = Buffer.from('"role":"tool"');
const ASKED = Buffer.from('"role":"user"');
const STREAMED = Buffer.from('"stream":true');

function answer(socket: Socket, body: Buffer): void {
  const chosen = answers.find(({ named }) => body.includes(named));
  if (!chosen) return void socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
  const resulted = body.lastIndexOf(RESULT) > body.lastIndexOf(ASKED);
  if (!body.includes(STREAMED)) socket.write(resulted ? chosen.wholeText : chosen.wholeCall);
  else if (!resulted) socket.write(chosen.call);
  else if (chosen.paced) pace(socket, chosen);
  else socket.write(chosen.text);
}

function pace(socket: Socket, { opening, tokens, ending }: Answers): void {
  let next = 0;
  socket.write(opening);
  const timer = setInterval(() => {
    const token = tokens[next++];
    if (token && socket.writable) return void socket.write(token);
    clearInterval(timer);
    if (socket.writable) socket.write(ending);
  }, PACE_MS);
}

function serve(socket: Socket): void {
  let held: Buffer = Buffer.alloc(0);
  socket.setNoDelay(true);
  socket.on("error", () => socket.destroy());
  socket.on("data", (bytes: Buffer) => {
    held = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
    for (;;) {
      const headEnd = held.indexOf(HEAD_END);
      if (headEnd === -1) return;
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(held.toString("latin1", 0, headEnd))?.[1] ?? 0);
      const end = headEnd + HEAD_END.length + length;
      if (held.length < end) return;
      const body = held.subarray(headEnd + HEAD_END.length, end);
      held = held.subarray(end);
      answer(socket, body);
    }
  });
}

const server = createServer(serve);
server.listen(0, "127.0.0.1", 1024, () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ ready: true, url: `http://127.0.0.1:${port}/v1` })}\n`);
});
process.on("disconnect", () => process.exit(0));
