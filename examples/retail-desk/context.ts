import { functionsFor } from "@patchbay/functions";
import { z } from "zod";

/**
 * The context of the desk's queries: the account that a customer may use. Anything except a non-empty string counts as no
 * id, and a customer without an id owns nothing. Other properties are ignored.
 */
export const deskContext = z.object({ customerId: z.string().min(1).optional().catch(undefined) });

export type DeskContext = z.infer<typeof deskContext>;

export const { defineFunction } = functionsFor(deskContext);
