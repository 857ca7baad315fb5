import type { ExampleQuery } from "@patchbay/functions";
import type { RetailStore } from "./store.ts";

/** Queries about records of the store: without a role, as a customer, and as an agent. */
export function createExampleQueries({ products, users, orders: all, conversations }: RetailStore): ExampleQuery[] {
  const [product] = products.values();
  // Few orders, so that the answer about them fits on a screen.
  const known = [...users].find(([, { orders }]) => orders.length === 2);
  const examples: ExampleQuery[] = [{ query: "What is 12 * (3 + 4)?" }];
  if (product) examples.unshift({ query: `Which variants of the ${product.name} are available?` });
  if (!known) return examples;

  const [customerId, { name, email, address, orders }] = known;
  const asCustomer = { role: "customer", context: { customerId } };
  examples.push(
    { query: `What is the status of order ${orders[0]}?`, ...asCustomer },
    { query: "What is my address?", ...asCustomer },
    { query: `What is the user id of ${name.first_name} ${name.last_name}, zip ${address.zip}?`, role: "agent" },
    { query: `Which orders does ${email} have?`, role: "agent" },
  );
  const [written = ""] = conversations.keys();
  const about = all.get(written);
  if (!about) return examples;
  const asWriter = { role: "customer", context: { customerId: about.user_id } };
  examples.push(
    { query: `Which messages are there about order ${written}?`, ...asWriter }, // the desk's notes are removed
    { query: `Show the messages about order ${written}`, role: "agent" },
  );
  return examples;
}
