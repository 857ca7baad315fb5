import { expect, test } from "vitest";
import { type Call, converse, type Handlers, takeTurn } from "./converse.ts";
import { assistant, crm } from "./other-services.ts";

const deal = "8b0f0a34-0d2a-4a67-9d6f-111111111111";

const assistantCases: [query: string, calls: Call[]][] = [
  ["What's the weather in Paris?", [["getCurrentWeather", { city: "Paris" }]]],
  ["weather in New York in fahrenheit", [["getCurrentWeather", { city: "New York", unit: "fahrenheit" }]]],
  ["what is the weather in paris", [["getCurrentWeather", { city: "paris" }]]],
  [
    "Weather in Paris and London",
    [
      ["getCurrentWeather", { city: "Paris" }],
      ["getCurrentWeather", { city: "London" }],
    ],
  ],
  ["forecast for Berlin for 5 days", [["getForecast", { city: "Berlin", days: 5 }]]],
  [
    "What is on my calendar between 2026-05-01 and 2026-05-31?",
    [["listEvents", { startDate: "2026-05-01", endDate: "2026-05-31" }]],
  ],
  [
    "List events from 2026-05-03 to 2026-05-09 including declined",
    [["listEvents", { startDate: "2026-05-03", endDate: "2026-05-09", includeDeclined: true }]],
  ],
  [
    "Create an event titled Sprint review on 2026-05-04 with ada@example.com and bob@example.com",
    [
      [
        "createEvent",
        { title: "Sprint review", date: "2026-05-04", attendees: ["ada@example.com", "bob@example.com"] },
      ],
    ],
  ],
  [
    'Create a 30 minute meeting "Lunch" on 2026-05-04',
    [["createEvent", { title: "Lunch", date: "2026-05-04", durationMinutes: 30 }]],
  ],
  ["Delete event evt_abc123", [["deleteEvent", { eventId: "evt_abc123" }]]],
  [
    "Send an email to bob@example.com saying the build is green and no one should stop it",
    [["sendEmail", { to: "bob@example.com", body: "the build is green and no one should stop it" }]],
  ],
  [
    'Send an email to bob@example.com with subject "Lunch" saying "See you at noon"',
    [["sendEmail", { to: "bob@example.com", subject: "Lunch", body: "See you at noon" }]],
  ],
  ["Convert 250 USD to EUR", [["convertCurrency", { amount: 250, from: "USD", to: "EUR" }]]],
  ["convert 1,250.50 from EUR to GBP", [["convertCurrency", { amount: 1250.5, from: "EUR", to: "GBP" }]]],
  ["Delete event evt_1", []],
  ["Delete all my events", []],
  ["What is the weather tomorrow?", []],
];

test.each(assistantCases)("%s", async (query, calls) => {
  const { turn } = await takeTurn(assistant, [{ role: "user", text: query }]);

  expect(turn.calls.map((call) => [call.name, JSON.parse(call.arguments)])).toEqual(calls);
});

const crmCases: [query: string, calls: Call[]][] = [
  ["Show contact 4711", [["contacts.get", { contactId: 4711 }]]],
  ["Show the open deals of contact 4711", [["deals.list", { contactId: 4711, stage: "open" }]]],
  [`What is the value of deal ${deal}?`, [["deals.get", { dealId: deal }]]],
  [`Move deal ${deal} to won`, [["deals.update_stage", { dealId: deal, stage: "won" }]]],
  ["search for contacts at Initech", [["contacts.search", { query: "Initech" }]]],
  [
    "Add a note to contact 4711 saying call back on Monday",
    [["notes.add", { contactId: 4711, text: "call back on Monday" }]],
  ],
  [
    'Add a high priority note to contact 4711: "VIP"',
    [["notes.add", { contactId: 4711, text: "VIP", priority: "high" }]],
  ],
  [
    "Create a contact named Grace Hopper with email grace@navy.mil and website https://navy.mil/grace.",
    [["contacts.create", { fullName: "Grace Hopper", email: "grace@navy.mil", website: "https://navy.mil/grace" }]],
  ],
  ["Move the deal to won", []],
  ["Add a note to contact 4711", []],
];

test.each(crmCases)("%s", async (query, calls) => {
  const { turn } = await takeTurn(crm, [{ role: "user", text: query }]);

  expect(turn.calls.map((call) => [call.name, JSON.parse(call.arguments)])).toEqual(calls);
});

const handlers: Handlers = {
  "contacts.search": () => [
    { id: 4710, name: "Adam Smith", company: "Wealth" },
    { id: 4711, name: "Ada Lovelace", company: "Analytical" },
  ],
  "contacts.get": ({ contactId }) => ({ id: Number(contactId), name: "Ada Lovelace", phone: "+44 123 456" }),
  "deals.list": () => [{ dealId: deal, stage: "open" }],
};

test("only the record that the query names is looked up", async () => {
  const { calls, answer } = await converse(crm, "What is the phone number of Ada Lovelace?", { handlers });

  expect(calls).toEqual([[["contacts.search", { query: "Ada Lovelace" }]], [["contacts.get", { contactId: 4711 }]]]);
  expect(answer).toContain("**Phone:** +44 123 456");
});

test("a list is reached through the record it belongs to", async () => {
  const { calls, answer } = await converse(crm, "Which deals does Ada Lovelace have?", { handlers });

  expect(calls).toEqual([[["contacts.search", { query: "Ada Lovelace" }]], [["deals.list", { contactId: 4711 }]]]);
  expect(answer).toContain(deal);
});
