import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { RetailData } from "./shape.ts";

/** Reads users.json, orders.json and products.json of a folder. Throws when one is missing or malformed. */
export function loadRetailData(folder: string): RetailData {
  const data = {
    users: readJson(folder, "users.json"),
    orders: readJson(folder, "orders.json"),
    products: readJson(folder, "products.json"),
  };
  const checked = RetailData.safeParse(data);
  if (!checked.success) {
    throw new Error(
      `The files in ${folder} do not have the shape that the retail desk expects:\n${z.prettifyError(checked.error)}`,
    );
  }
  return checked.data;
}

function readJson(folder: string, file: string): unknown {
  const path = join(folder, file);
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw new Error(`Cannot read ${path}: RETAIL_DATA must name a folder with this JSON file.`, { cause });
  }
}
