import { z } from "zod";
import { isJsonObject, type JsonObject, type JsonValue } from "@patchbay/kit";

/** Any JSON value. */
export const json = z.custom<JsonValue>((value) => value !== undefined);
export const jsonObject = z.custom<JsonObject>(isJsonObject);

// Members with their description, as most wire schemas have them.
export const text = (description: string) => z.string().describe(description);
export const optionalText = (description: string) => z.string().optional().describe(description);
export const nullableText = (description: string) => z.string().nullable().describe(description);
export const texts = (description: string) => z.array(z.string()).describe(description);
export const optionalTexts = (description: string) => z.array(z.string()).optional().describe(description);
export const flag = (description: string) => z.boolean().describe(description);
export const optionalFlag = (description: string) => z.boolean().optional().describe(description);
export const fault = (path: string) => z.object({ path: text(path), message: text("What is wrong at this place.") });
