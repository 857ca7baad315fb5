import { expect, test } from "vitest";
import { flag, integer, json, recordColumns, text } from "../src/tables/table.ts";

interface Order {
  orderId: string;
  paid: boolean;
  lines: string[];
  count?: number;
  note?: string | null;
}

const columns = recordColumns<Order>()({
  orderId: text("id"),
  paid: flag("paid"),
  lines: json("lines"),
  count: integer("line_count"),
  note: json("note"),
});

test("a record becomes a row and the row the same record, with null for absent members", () => {
  const order: Order = { orderId: "o1", paid: true, lines: ["a"], note: null };
  const row = columns.rowOf(order);

  expect(row).toEqual({ id: "o1", paid: 1, lines: '["a"]', line_count: null, note: "null" });
  expect(columns.recordOf(row)).toEqual(order);
});

test("a statement lists the names and the types of the columns", () => {
  expect(columns.names).toEqual(["id", "paid", "lines", "line_count", "note"]);
  expect(columns.types).toBe("id text, paid integer, lines text, line_count integer, note text");
});
