import { FunctionError } from "@patchbay/functions";
import { z } from "zod";
import type { DeskCases } from "../cases.ts";
import { defineFunction } from "../context.ts";
import { User } from "../data/shape.ts";
import { DESK, STAFF, type DeskPolicy } from "../policy.ts";
import { findUser, type RetailStore } from "../store.ts";
import { addressProperties, EXAMPLE_ADDRESS, userId } from "./parameters.ts";

export function userFunctions(store: RetailStore, policy: DeskPolicy, cases: DeskCases) {
  function firstUser(matches: (user: User) => boolean): string {
    for (const [id, user] of store.users) if (matches(user)) return id;
    throw new FunctionError("user not found");
  }

  return [
    defineFunction({
      name: "find_user_id_by_email",
      description: "Finds the user id of the customer who has this e-mail address (email).",
      input: z.object({ email: z.string().describe("E-mail address of the customer, such as name@example.com") }),
      output: z.string(),
      roles: STAFF,
      effect: "read",
      handler: ({ email }) => firstUser((user) => sameText(user.email, email)),
    }),

    defineFunction({
      name: "find_user_id_by_name_zip",
      description:
        "Finds the user id of a customer by first name, last name and zip code. For customers who cannot tell their e-mail address.",
      input: z.object({
        first_name: z.string().describe("First name of the customer"),
        last_name: z.string().describe("Last name of the customer"),
        zip: z.string().describe("Zip code of the customer's address"),
      }),
      output: z.string(),
      roles: STAFF,
      effect: "read",
      handler: ({ first_name, last_name, zip }) =>
        firstUser(
          ({ name, address }) =>
            sameText(name.first_name, first_name) && sameText(name.last_name, last_name) && address.zip === zip,
        ),
    }),

    defineFunction({
      name: "get_user_details",
      description:
        "Gets the details of a user (customer): name, e-mail, address, payment methods with gift card balances, and the ids of all his or her orders.",
      input: z.object({ user_id: userId }),
      output: User,
      roles: DESK,
      authorize: policy.ownAccount,
      cases: cases.account({}),
      effect: "read",
      handler: ({ user_id }) => structuredClone(findUser(store, user_id)),
    }),

    defineFunction({
      name: "modify_user_address",
      description:
        "Changes the default address of a user (customer). Orders keep the address they have. Ask for a clear yes before calling.",
      input: z.object({ user_id: userId, ...addressProperties }),
      output: User,
      roles: DESK,
      authorize: policy.ownAccount,
      cases: cases.account(EXAMPLE_ADDRESS),
      effect: "write",
      targets: { user_id: "trusted", address1: "caller" },
      handler: ({ user_id, ...address }) => {
        const user = findUser(store, user_id);
        user.address = address;
        return structuredClone(user);
      },
    }),
  ];
}

function sameText(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
