/** A person of this example. In your application, your sign-in says who asks, and your database what role they have. */
export interface Person {
  id: string;
  name: string;
  role: "customer" | "agent" | "manager";
  /** What the functions of the retail desk learn about the person. */
  context: { customerId?: string };
  suggestions: string[];
}

/** Their orders are those of the retail desk's generated records. */
export const PEOPLE: Person[] = [
  {
    id: "umar",
    name: "Umar Zeller",
    role: "customer",
    context: { customerId: "umar_zeller_6355" },
    suggestions: [
      "What is the status of order #W5896769?",
      "What is my address?",
      "What is the status of order #W9364614?", // of another customer
    ],
  },
  {
    id: "alma",
    name: "Alma Reyes",
    role: "agent",
    context: {},
    suggestions: [
      "Which orders does umar.zeller5567@example.com have?",
      "Refund 50 of order #W5896769 as goodwill because the parcel was late",
      "Refund 150 of order #W5896769 as goodwill because the parcel was late", // above the limit of an agent
    ],
  },
  {
    id: "mona",
    name: "Mona Lindqvist",
    role: "manager",
    context: {},
    suggestions: ["What is the status of order #W5896769?"],
  },
];
