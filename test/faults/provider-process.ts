import { startStandIn } from "@patchbay/test-support/providers";
import { answerOf, planOf } from "./plan.ts";

// A model provider in a separate process, so that it does not slow down replicas or the load client.
const standIn = await startStandIn("openai-chat", ({ step, query }) => {
  const plan = planOf(query);
  const delayMs = plan.thinkMs ?? 0;
  const calls = plan.turns[step];
  if (!calls) return { delayMs, text: answerOf(plan) };
  return { delayMs, calls: calls.map(({ name, id, ms, gate }) => ({ name, arguments: argumentsOf(id, ms, gate) })) };
});

function argumentsOf(id: string, ms: number | undefined, gate: string | undefined) {
  return { id, ...(ms !== undefined && { ms }), ...(gate !== undefined && { gate }) };
}

let refused = 0;
// The stand-in keeps its requests, which would fill the memory in a long run.
setInterval(() => {
  for (const { refusal } of standIn.requests.splice(0)) if (refusal) process.stderr.write(`${++refused}: ${refusal}\n`);
}, 1_000);

process.stdout.write(`${JSON.stringify({ ready: true, env: standIn.env })}\n`);
