import { z } from "zod";

/** The messages of the floor's WebSocket, in each direction. */
export const CallFrame = z.object({ id: z.int(), name: z.string(), input: z.record(z.string(), z.unknown()) });
export const ResultFrame = z.object({ id: z.int(), value: z.unknown() });
