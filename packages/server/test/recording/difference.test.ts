import { expect, test } from "vitest";
import { differences } from "../../src/recording/difference.ts";
import type { RecordedRequest } from "../../src/recording/request.ts";

const request = (functions: RecordedRequest["functions"]): RecordedRequest => ({
  system: [],
  functions,
  messages: [],
  settings: { maxTokens: 100, toolChoice: "auto" },
});

test("a function whose name every object inherits is added, removed and changed as any other", () => {
  const [without, old, changed] = [{}, { constructor: "a", toString: "a" }, { constructor: "b", toString: "a" }];

  expect(differences(request(without), request(old)).map(({ what }) => what)).toEqual([
    "function constructor was added",
    "function toString was added",
  ]);
  expect(differences(request(old), request(without)).map(({ what }) => what)).toEqual([
    "function constructor was removed",
    "function toString was removed",
  ]);
  expect(differences(request(old), request(changed)).map(({ what }) => what)).toEqual([
    "function constructor has another description, schema or effect",
  ]);
});
