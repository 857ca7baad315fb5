import { z } from "zod";

/** What crosses the floor's WebSocket, each way. */
export const CallFrame = z.object({ id: z.int(), name: z.string(), input: z.record(z.string(), z.unknown()) });
export const ResultFrame = z.object({ id: z.int(), value: z.unknown() });
