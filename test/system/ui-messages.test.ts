import { defineFunction, defineService } from "@patchbay/functions";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { z } from "zod";
import { startStandIn } from "@patchbay/test-support/providers";
import { startSystem } from "@patchbay/test-support/system";
import { UiChat } from "../support/ui-chat.ts";

/** Seventeen of them fill a page of messages. */
const REPORT_UNITS = 240 * 1024;

const service = defineService({
  name: "desk",
  functions: [
    defineFunction({
      name: "report",
      description: "Writes a long report.",
      input: z.object({ id: z.string() }),
      roles: "everyone",
      handler: () => "x".repeat(REPORT_UNITS),
    }),
  ],
});

const outputOf = (part: UIMessage["parts"][number]) =>
  part.type === "dynamic-tool" && part.state === "output-available" ? (part.output as string) : undefined;

test("a page of messages has a limited size, and continues with the next message", async () => {
  const reports = [10, 10, 20];
  const standIn = await startStandIn("anthropic", ({ step }) => {
    if (step > 0) return { text: "Done." };
    const ids = Array.from({ length: reports.shift()! }, (_, i) => `o${i}`);
    return { calls: ids.map((id) => ({ name: "report", arguments: { id } })) };
  });
  await using system = await startSystem({ service, providers: standIn.config });
  const api = `${system.url}/agents/${system.agentId}/ui-stream`;
  const headers = { Authorization: `Bearer ${system.apiKey}` };
  // A client that keeps the messages sends them with the next one, and a request has a limit too.
  for (const text of ["One", "Two", "Three"]) await new UiChat(api, { id: "chat-1", headers }).sendMessage({ text });
  const pages: UIMessage[][] = [];
  for (let search: string | undefined = ""; search !== undefined;) {
    const response = await fetch(`${api}/chat-1/messages${search}`, { headers });
    const page = (await response.json()) as { messages: UIMessage[]; nextCursor: string | null };
    pages.push(page.messages);
    search = page.nextCursor === null ? undefined : `?cursor=${page.nextCursor}`;
  }

  const both = ["user", "assistant"];
  expect(pages.map((page) => page.map(({ role }) => role))).toEqual([both, both, both]);
  const outputs = pages.map((page) => page.flatMap(({ parts }) => parts.flatMap((part) => outputOf(part) ?? [])));
  const whole = (texts: string[]) => texts.filter((text) => text.length === REPORT_UNITS).length;
  expect(outputs.map((texts) => [texts.length, whole(texts)])).toEqual([
    [10, 10],
    [10, 10],
    [20, 17],
  ]);
  expect(outputs[2]!.at(-1)).toBe("[241 KiB left out: the messages would be too large]");
  await standIn.close();
});
