import { expect, test } from "vitest";
import { readOptions } from "../../bench/options.ts";

test("without options, all systems are measured at all concurrencies; --quick compares the engines with their floors", () => {
  expect(readOptions([])).toMatchObject({ only: ["A", "B", "C", "P", "N", "F", "L"], at: [16, 1, 64], rounds: 5 });
  expect(readOptions(["--quick"])).toMatchObject({ only: ["A", "B", "P", "F"], at: [16], rounds: 2 });
});

test("systems and concurrencies are measured in one order, each once", () => {
  expect(readOptions(["--only", "pfap", "--at", "64,16,64"])).toMatchObject({ only: ["A", "P", "F"], at: [16, 64] });
});

test("unknown systems, concurrencies and round counts are refused with what was given", () => {
  expect(() => readOptions(["--only", "AX"])).toThrow("--only must be letters of ABCPNFL, got AX.");
  expect(() => readOptions(["--only", ""])).toThrow("--only must be letters of ABCPNFL");
  expect(() => readOptions(["--at", "2"])).toThrow("--at must be numbers of 16, 1, 64, got 2.");
  expect(() => readOptions(["--rounds", "0"])).toThrow("--rounds must be a whole number of at least 1, got 0.");
});
