import { z } from "zod";

export const userId = z
  .string()
  .describe("Id of the user, such as ada_birk_0000: names and digits, never an e-mail address");
export const orderId = z.string().describe("Id of the order, such as #W0000000; the # belongs to it");
export const productId = z.string().describe("Id of the product, such as 1234567890; not the id of an item");
export const paymentMethodId = z
  .string()
  .describe(
    "Id of a payment method of the order's owner, such as credit_card_0000000, paypal_0000000 or gift_card_0000000",
  );
export const itemIds = z
  .array(z.string())
  .describe("Ids of items of the order, such as 1234567890; an item that is meant twice is listed twice");
export const newItemIds = z
  .array(z.string())
  .describe("Ids of the new items, in the order of item_ids: each an available variant of the same product");

export const addressProperties = {
  address1: z.string().describe("First line: house number and street"),
  address2: z.string().describe("Second line: unit or flat; empty if it has none"),
  city: z.string().describe("City"),
  state: z.string().describe("State, as two letters such as ME"),
  country: z.string().describe("Country, such as USA"),
  zip: z.string().describe("Zip code"),
};

/** Valid arguments for the parameters above. Used in cases, which never reach a handler. */
export const EXAMPLE_ADDRESS = {
  address1: "1 Example Street",
  address2: "",
  city: "Bangor",
  state: "ME",
  country: "USA",
  zip: "04401",
};
