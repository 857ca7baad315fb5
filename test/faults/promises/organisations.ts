import type { Promised } from "./promise.ts";

/** Guarantees to an organisation against others, attackers and its own load. */
export const organisations: readonly Promised[] = [
  {
    promise: "A limit of 60 queries a minute lets at most 66 pass over three replicas",
    atMost: { "rate-limit": { allowed: 66 } },
  },
  {
    promise: "500 concurrent queries against a balance for 10, with a replica killed, are charged 10 times",
    tests: {
      "packages/store/test/contract/credits.ts": "200 runs that reserve at the same time spend exactly the balance",
    },
    atMost: { "spent-credits": { charged: 10, violations: 0 } },
  },
  {
    promise:
      "An organisation that overloads a shared process fails no query of another one, whose p95 is at most 5 times its median, and whose slowest query takes 1 s",
    atMost: { "fair-share": { failed: 0, p95OfMedian: 5, slowestMs: 1_000 } },
  },
  {
    promise: "Function sets whose schemas are expensive to compare stop the process for at most 100 ms",
    tests: {
      "packages/store/test/comparisons.test.ts":
        "other work of the process runs between the long pieces of a comparison",
      "packages/access/test/comparison-steps.test.ts":
        "200 functions with hostile schemas share the steps of one comparison",
    },
    atMost: { "hostile-schemas": { longestStallMs: 100 } },
  },
  {
    promise: "Ids of another organisation, in every route and frame, return and change nothing",
    tests: {
      "test/contract/two-tenants.test.ts": [
        "$method $path returns and changes nothing for ids of another organisation",
        "a runtime of another organisation cannot affect a call, whatever ids its frames contain",
      ],
    },
  },
  {
    promise: "A model that obeys attackers runs no function outside its role's list in 10,000 turns",
    tests: {
      "test/contract/adversarial-model.test.ts":
        "a model that obeys every injection runs no function outside its role's list in 10,000 turns",
    },
  },
  {
    promise: "Secrets are in no log, stream, answer or table",
    tests: {
      "test/contract/canaries.test.ts": "secrets from every possible source appear in no log, stream, answer or table",
    },
  },
  {
    promise:
      "80,000 malformed frames, random requests, endless headers and compression bombs end no process and no other connection",
    tests: {
      "test/connection/malformed-frames.test.ts": [
        "eighty thousand malformed frames break neither parser",
        "sockets with random bytes and connections with bad frames are closed, and other runtimes stay connected",
      ],
      "test/contract/hostile-requests.test.ts": [
        "no random request to any route is answered with 5xx",
        "requests with endless headers are closed, and other requests are served meanwhile",
      ],
      "test/connection/bombs.test.ts": "the control plane refuses %s, and continues to serve",
    },
  },
];
