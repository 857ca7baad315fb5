import type { JsonObject } from "@patchbay/kit";
import type { ModelFunction } from "@patchbay/engine/ports/model-provider";

function define(
  effect: ModelFunction["effect"],
  name: string,
  description: string,
  properties: JsonObject,
  required: string[] = Object.keys(properties),
): ModelFunction {
  return { name, description, effect, inputSchema: { type: "object", properties, required } };
}

/** Weather and a calendar: camelCase, dates, e-mails, lists, optional members, formats. */
export const assistant: readonly ModelFunction[] = [
  define("read", "getCurrentWeather", "Current weather in a city.", {
    city: { type: "string", description: "Name of the city" },
    unit: { type: "string", enum: ["celsius", "fahrenheit"] },
  }, ["city"]), // prettier-ignore
  define("read", "getForecast", "Weather forecast for the coming days in a city.", {
    city: { type: "string" },
    days: { type: "integer", minimum: 1, maximum: 14, description: "How many days" },
  }),
  define("read", "listEvents", "Lists the events of the calendar between two dates.", {
    startDate: { type: "string", format: "date" },
    endDate: { type: "string", format: "date" },
    includeDeclined: { type: "boolean" },
  }, ["startDate", "endDate"]), // prettier-ignore
  define("write", "createEvent", "Creates an event in the calendar.", {
    title: { type: "string", minLength: 1 },
    date: { type: "string", format: "date" },
    attendees: { type: "array", items: { type: "string", format: "email" } },
    durationMinutes: { type: "integer", minimum: 5 },
  }, ["title", "date"]), // prettier-ignore
  define("destructive", "deleteEvent", "Deletes an event from the calendar.", {
    eventId: { type: "string", pattern: "^evt_[a-z0-9]{6}$" },
  }),
  define("write", "sendEmail", "Sends an e-mail.", {
    to: { type: "string", format: "email" },
    subject: { type: "string" },
    body: { type: "string" },
  }, ["to", "body"]), // prettier-ignore
  define("read", "convertCurrency", "Converts an amount of money from one currency to another.", {
    amount: { type: "number" },
    from: { type: "string", pattern: "^[A-Z]{3}$" },
    to: { type: "string", pattern: "^[A-Z]{3}$" },
  }),
];

/** A customer relations service: dots, numbers as ids, nested objects, references, search and a chain over records. */
export const crm: readonly ModelFunction[] = [
  define("read", "contacts.search", "Searches contacts by name or company.", {
    query: { type: "string", description: "Name or company to look for" },
  }),
  define("read", "contacts.get", "Gets one contact with phone, e-mail and company.", {
    contactId: { type: "integer", description: "Id of the contact, such as 4711" },
  }),
  define("read", "deals.list", "Lists the deals of a contact.", {
    contactId: { type: "integer" },
    stage: { type: "string", enum: ["open", "won", "lost"] },
  }, ["contactId"]), // prettier-ignore
  define("read", "deals.get", "Gets a deal with its value and stage.", {
    dealId: { type: "string", format: "uuid" },
  }),
  define("write", "deals.update_stage", "Moves a deal to another stage.", {
    dealId: { type: "string", format: "uuid" },
    stage: { type: "string", enum: ["open", "won", "lost"] },
  }),
  define("write", "contacts.create", "Creates a contact.", {
    fullName: { type: "string" },
    email: { type: "string", format: "email" },
    website: { anyOf: [{ type: "string", format: "uri" }, { type: "null" }] },
    address: {
      type: "object",
      properties: { city: { type: "string" }, zip: { type: "string" } },
      required: ["city"],
    },
  }, ["fullName", "email"]), // prettier-ignore
  define("write", "notes.add", "Adds a note to a contact.", {
    contactId: { type: "integer" },
    text: { type: "string", maxLength: 500 },
    priority: { type: "string", enum: ["low", "normal", "high"], default: "normal" },
  }, ["contactId", "text"]), // prettier-ignore
];
