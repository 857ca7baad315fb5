import { functionsFor } from "@patchbay/functions";
import { z } from "zod";

/**
 * What the desk reads of a query's context: whose account a customer may use. Anything but a non-empty string
 * counts as no id, and a customer without an id owns nothing; other members are of no matter.
 */
export const deskContext = z.object({ customerId: z.string().min(1).optional().catch(undefined) });

export type DeskContext = z.infer<typeof deskContext>;

export const { defineFunction } = functionsFor(deskContext);
