import { z } from "zod";
import { HTTP_ERROR_CODES } from "../codes.ts";

/** Codes that this interface adds to those of the service. `confirmation_required`: give the password (POST /session/confirm), then ask again. */
export const CONSOLE_ERROR_CODES = [
  "csrf_refused",
  "confirmation_required",
  "console_role_required",
  "conflict",
] as const;

/** Body of every answer with a 4xx or 5xx status; the same members as in the service's own. */
export const ConsoleProblem = z.object({
  success: z.literal(false),
  errorMessage: z.string(),
  code: z.enum([...HTTP_ERROR_CODES, ...CONSOLE_ERROR_CODES]),
  requestId: z.string(),
  details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});
export type ConsoleProblem = z.infer<typeof ConsoleProblem>;
