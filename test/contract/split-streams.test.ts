import { randomInt } from "node:crypto";
import { readServerSentEvents } from "@patchbay/client";
import { createSseReader } from "@patchbay/models/turn-stream";
import { expect, test } from "vitest";
import { createDice, type Dice } from "../../examples/retail-desk/data/dice.ts";
import { printFigure } from "@patchbay/test-support/figures";

const SPLITS = 10_000;
const LONG_UNITS = 1_048_576;

const TEXTS = [
  "größer 🦒 東京",
  '{"a":"\\n","b":"\u2028"}',
  "",
  ": no comment",
  "data: none",
  "e\u0301\u{1F468}\u200D\u{1F469}",
];

function stream(newline: string): { bytes: Buffer; data: string[] } {
  const lines = TEXTS.flatMap((text, index) => [`: é${index}`, `id: ${index + 1}`, `data: ${text}`, ""]);
  return { bytes: Buffer.from(`${lines.join(newline)}${newline}`), data: TEXTS };
}

/** Splits anywhere: inside characters, between CR and LF, and often into single bytes. */
function split(bytes: Buffer, dice: Dice): Buffer[] {
  const most = dice.chance(0.3) ? 1 : dice.between(2, 40);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const size = dice.between(1, most);
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

function streamOf(pieces: readonly Buffer[]): ReadableStream<Uint8Array> {
  const rest = pieces.values();
  return new ReadableStream({
    pull(controller) {
      const { value, done } = rest.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

async function ofClient(pieces: readonly Buffer[]): Promise<string[]> {
  const data: string[] = [];
  for await (const event of readServerSentEvents(streamOf(pieces))) data.push(event.data);
  return data;
}

function ofProvider(pieces: readonly Buffer[]): string[] {
  const read = createSseReader();
  return pieces.flatMap((piece) => read(piece));
}

test("client and control plane read a stream identically after 10,000 random splits, including single bytes", async () => {
  const seed = randomInt(2 ** 31);
  const dice = createDice(seed);
  let differences = 0;
  for (let count = 0; count < SPLITS; count++) {
    const { bytes, data } = stream(dice.pick(["\n", "\r\n"]));
    const pieces = split(bytes, dice);
    const read = count % 2 === 0 ? ofProvider(pieces) : await ofClient(pieces);
    if (JSON.stringify(read) !== JSON.stringify(data)) differences++;
  }
  printFigure("randomly split streams", { seed, splits: SPLITS, differences });
  expect(differences).toBe(0);
});

test.each([1_447, 65_536, LONG_UNITS * 4])(
  "a line of a million characters in pieces of %i bytes is read whole",
  async (size) => {
    const text = "ü🦒a".repeat(LONG_UNITS / 4);
    const bytes = Buffer.from(`id: 1\r\ndata: ${text}\r\n\r\ndata: after\r\n\r\n`);
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.subarray(i * size, (i + 1) * size),
    );
    const began = process.cpuUsage();

    const atProvider = ofProvider(pieces);

    // Processor time, which other processes do not change: far less than a time that grows with the square of the pieces.
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(1_500);
    const atClient = size < 8_192 ? atProvider : await ofClient(pieces);
    for (const read of [atProvider, atClient]) {
      expect(read).toHaveLength(2);
      expect(read[0] === text && read[1] === "after").toBe(true);
    }
  },
);
