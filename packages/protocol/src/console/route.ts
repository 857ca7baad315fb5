import type { z } from "zod";
import type { ConsoleRole } from "./session.ts";

/** Who may use a route: anybody at all, or a member of that role or a higher one. */
export type Needs = "nobody" | ConsoleRole;

/** One route of the console's interface. Handlers, the OpenAPI document, the client's types and tests are made from these. */
export interface ConsoleRoute {
  needs: Needs;
  summary: string;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** What it answers with: JSON of a shape, server-sent events, or nothing (204). */
  answer: z.ZodType | "events" | "nothing";
  /** 201 where something is made. Default 200. */
  status?: 201;
  /** True where the member's password must have been given in the last 15 minutes. */
  confirmed?: true;
}
