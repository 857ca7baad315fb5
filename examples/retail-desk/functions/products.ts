import { everyone } from "@patchbay/functions";
import { z } from "zod";
import { defineFunction } from "../context.ts";
import { Product } from "../data/shape.ts";
import { findProduct, type RetailStore } from "../store.ts";
import { productId } from "./parameters.ts";

export function productFunctions(store: RetailStore) {
  return [
    defineFunction({
      name: "list_all_product_types",
      description: "Lists all product types that the shop sells: the name of each product with its product id.",
      input: z.object({}),
      output: z.record(z.string(), z.string()),
      roles: everyone,
      effect: "read",
      handler: () => Object.fromEntries(store.products.values().map(({ name, product_id }) => [name, product_id])),
    }),

    defineFunction({
      name: "get_product_details",
      description:
        "Gets the details of one product: its name and all its variants, each with item id, options, price and whether it is available (in stock).",
      input: z.object({ product_id: productId }),
      output: Product,
      roles: everyone,
      effect: "read",
      handler: ({ product_id }) => structuredClone(findProduct(store, product_id)),
    }),
  ];
}
