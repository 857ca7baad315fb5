import { membersOf } from "./doc-comments.ts";
import type { Section } from "./section.ts";

const SOURCES = "packages/runtime/src";
const OPENAPI = "packages/openapi/src";

/** The options that owners write, from the doc comments of their types. */
const INTERFACES = {
  "define-function": [
    ["Options of defineFunction", `${SOURCES}/function.ts`, "FunctionOptions"],
    ["What authorize receives", `${SOURCES}/decision.ts`, "Access"],
    ["An approval", `${SOURCES}/approval.ts`, "ApprovalOptions"],
    ["What the handler receives", `${SOURCES}/invocation.ts`, "CallContext"],
    ["A case", `${SOURCES}/definition-checks.ts`, "FunctionCase"],
  ],
  "define-service": [
    ["Options of defineService", `${SOURCES}/service.ts`, "ServiceOptions"],
    ["What beforeQuery receives", `${SOURCES}/hooks.ts`, "QueryReview"],
    ["What beforeAnswer receives", `${SOURCES}/hooks.ts`, "AnswerReview"],
    ["What beforeCall receives", `${SOURCES}/hooks.ts`, "CallReview"],
    ["The labels of a call", `${SOURCES}/hooks.ts`, "CallLabels"],
    ["What every hook receives", `${SOURCES}/hooks.ts`, "ReviewOfQuery"],
  ],
  connect: [
    ["Options of connect", `${SOURCES}/connection/connect.ts`, "ConnectOptions"],
    ["What onApproval receives", `${SOURCES}/connection/notices.ts`, "ApprovalNotice"],
    ["Waits between attempts", `${SOURCES}/connection/backoff.ts`, "BackoffOptions"],
    ["The connection", `${SOURCES}/connection/connect.ts`, "Connection"],
  ],
  openapi: [
    ["Options of openapiFunctions", `${OPENAPI}/options.ts`, "OpenApiOptions"],
    ["What override adds to the options of defineFunction", `${OPENAPI}/options.ts`, "OperationOverride"],
    ["The result", `${OPENAPI}/openapi-functions.ts`, "OpenApiFunctions"],
  ],
} as const;

export function optionSections(page: keyof typeof INTERFACES): Section[] {
  return INTERFACES[page].map(([heading, file, name]) => ({
    heading,
    entries: membersOf(file, name).map(({ name, type, optional, description }) => ({
      name,
      facts: `\`${type}\`${optional ? ", optional" : ""}`,
      description,
    })),
  }));
}
