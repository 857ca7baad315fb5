import { ARGUMENTS, FUNCTION, orderOf, QUERY } from "./models.ts";

const ANSWER = Array.from({ length: 20 }, (_, i) => `token${i} `).join("");

/** A conversation of `messages` messages on the Chat wire, as in a Patchbay thread of that length. */
export function chatHistory(messages: number): object[] {
  const turns = Array.from({ length: Math.round(messages / 4) }, (_, i) => {
    const id = `call_${i}`;
    const call = { id, type: "function", function: { name: FUNCTION, arguments: JSON.stringify(ARGUMENTS) } };
    return [
      { role: "user", content: QUERY },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: id, content: JSON.stringify(orderOf(ARGUMENTS.orderId)) },
      { role: "assistant", content: ANSWER },
    ];
  });
  return turns.flat();
}

/** The same conversation as clients of the AI SDK send it: the call is a part of the answer. */
export function uiHistory(messages: number): object[] {
  const turns = Array.from({ length: Math.round(messages / 4) }, (_, i) => [
    { id: `u${i}`, role: "user", parts: [{ type: "text", text: QUERY }] },
    {
      id: `a${i}`,
      role: "assistant",
      parts: [
        { type: "step-start" },
        {
          type: `tool-${FUNCTION}`,
          toolCallId: `call_${i}`,
          state: "output-available",
          input: ARGUMENTS,
          output: orderOf(ARGUMENTS.orderId),
        },
        { type: "step-start" },
        { type: "text", text: ANSWER, state: "done" },
      ],
    },
  ]);
  return turns.flat();
}
