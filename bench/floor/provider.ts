import { FUNCTION, FUNCTION_TEXT } from "../models.ts";

export type Message = Record<string, unknown>;
export interface Turn {
  text: string;
  calls: { id: string; name: string; arguments: string }[];
}

interface Chunk {
  choices: {
    delta: { content?: string | null; tool_calls?: { id?: string; function: { name?: string; arguments?: string } }[] };
  }[];
}

const TOOLS = [
  {
    type: "function",
    function: {
      name: FUNCTION,
      description: FUNCTION_TEXT,
      parameters: { type: "object", properties: { orderId: { type: "string" } }, required: ["orderId"] },
    },
  },
];

/** One model turn with `fetch`, read line by line. */
export async function takeTurn(
  provider: string,
  model: string,
  messages: readonly Message[],
  onText?: (text: string) => void,
): Promise<Turn> {
  const response = await fetch(`${provider}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer bench" },
    body: JSON.stringify({ model, messages, tools: TOOLS, stream: true, stream_options: { include_usage: true } }),
  });
  if (!response.ok || !response.body) throw new Error(`the provider answered ${response.status}`);
  const turn: Turn = { text: "", calls: [] };
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of response.body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("data: {")) take(turn, JSON.parse(line.slice(6)) as Chunk, onText);
  }
  return turn;
}

function take(turn: Turn, { choices }: Chunk, onText: ((text: string) => void) | undefined): void {
  const delta = choices[0]?.delta;
  if (delta?.content) {
    turn.text += delta.content;
    onText?.(delta.content);
  }
  for (const {
    id,
    function: { name = "", arguments: more = "" },
  } of delta?.tool_calls ?? []) {
    if (id !== undefined) turn.calls.push({ id, name, arguments: more });
    else turn.calls.at(-1)!.arguments += more;
  }
}
