import { CONSOLE_ROUTES, ConsoleProblem, type ConsoleRoute } from "@patchbay/protocol/console";
import { z } from "zod";
import {
  eventStreamContent,
  jsonContent,
  openApiDocument,
  pathParameters,
  type Schema,
  templateOf,
} from "@patchbay/server/kernel/openapi";
import { IDEMPOTENCY } from "@patchbay/server/query/route-entry";

const FAILURES: Record<string, string> = {
  "400": "The request is not valid; `details` lists what is wrong",
  "401": "The request has no session and no service token, or it has ended",
  "403":
    "Not from a page of this service (`csrf_refused`), not allowed for this role (`console_role_required`) or service token (`scope_required`), or the password must be entered again (`confirmation_required`)",
  "404": "Not found in this organisation",
  "409":
    "The request conflicts with the current state, or its Idempotency-Key has made something with a secret that is shown once; `details` has its id (`conflict`)",
  "413": "The body is too large",
  "422": "The Idempotency-Key was used with another request",
  "415": "The body is not JSON",
  "429": "Too many attempts, or the rate limit of the organisation's tier is used up; see Retry-After",
  "500": "Server error",
  "503": "Temporarily unavailable; see Retry-After",
};

/** The console's API as an OpenAPI 3.1 document, derived from its route table. */
export function consoleDocument({ version, serverUrl }: { version: string; serverUrl: string }): Schema {
  const routes = Object.entries(CONSOLE_ROUTES) as [string, ConsoleRoute][];
  return openApiDocument({
    title: "Patchbay console",
    version,
    description:
      "The API of the console's pages, which are signed in by a cookie, and of programs that manage an organisation with a service token. `security` of an operation lists the scopes with which a service token may use it. Programs send queries with an API key instead: see /openapi.json.",
    serverUrl,
    operations: routes.map(([name, route]) => {
      const [method = "", rest = ""] = name.split(" ");
      const path = `/api${rest}`;
      return { method, path, operation: operation(method, path, route) };
    }),
    components: {
      schemas: { ConsoleProblem: schemaOf(ConsoleProblem, "output") },
      securitySchemes: {
        session: {
          type: "apiKey",
          in: "cookie",
          name: "__Host-patchbay",
          description: "`patchbay-` and the port on plain http",
        },
        serviceToken: {
          type: "http",
          scheme: "bearer",
          description:
            "A service token, `service_admin_...`. The listed scopes are all needed; `:write` includes `:read`",
        },
      },
    },
  });
}

function operation(method: string, path: string, route: ConsoleRoute): Schema {
  const parameters = [
    ...pathParameters(path),
    ...(route.query ? inQuery(route.query) : []),
    ...(hasKey(method, route) ? [IDEMPOTENCY_KEY] : []),
  ];
  return {
    operationId: operationId(method, templateOf(path)),
    summary: route.summary,
    "x-needs": route.needs,
    security:
      route.needs === "public"
        ? []
        : [{ session: [] }, ...(route.scopes ?? []).map((scopes) => ({ serviceToken: [...scopes] }))],
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && {
      requestBody: { required: true, content: jsonContent(schemaOf(route.body, "input")) },
    }),
    responses: { ...success(route), ...Object.fromEntries(failuresOf(method, path, route).map(failure)) },
  };
}

/** True for a route that honours an Idempotency-Key. */
const hasKey = (method: string, { idempotency }: ConsoleRoute): boolean => method === "POST" && idempotency !== "none";

const IDEMPOTENCY_KEY: Schema = {
  ...IDEMPOTENCY,
  description:
    "The same key and body within 24 h runs once: a repetition gets the first response or joins its run. Keys of a member or service token are apart from those of others",
};

function success({ answer, status }: ConsoleRoute): Record<string, Schema> {
  if (answer === "nothing") return { "204": { description: "Done" } };
  if (answer === "events") {
    return { "200": { description: "Server-sent events", content: eventStreamContent({ type: "string" }) } };
  }
  if (answer === "file") return { "200": { description: "A file" } };
  const content = jsonContent(schemaOf(answer, "output"));
  return { [status ?? 200]: { description: status === 201 ? "Created" : "OK", content } };
}

function failuresOf(method: string, path: string, route: ConsoleRoute): string[] {
  const { needs, scopes, body, query } = route;
  const keyed = hasKey(method, route);
  const unsafe = method !== "GET";
  const open = needs === "public";
  return [
    ...(body || query || keyed ? ["400"] : []),
    "401",
    ...(unsafe || needs !== "viewer" || scopes ? ["403"] : []),
    ...(path.includes(":") || path.startsWith("/api/links") ? ["404"] : []),
    ...((unsafe && needs === "owner") || keyed ? ["409"] : []),
    ...(body ? ["413", "415"] : []),
    ...(keyed ? ["422"] : []),
    ...(open || path.endsWith("/confirm") || path.endsWith("/account") || path.endsWith("/playground") ? ["429"] : []),
    "500",
    "503",
  ];
}

function failure(status: string): [string, Schema] {
  const schema = { $ref: "#/components/schemas/ConsoleProblem" };
  return [status, { description: FAILURES[status], content: jsonContent(schema) }];
}

function inQuery(query: z.ZodObject): Schema[] {
  const { properties = {}, required = [] } = schemaOf(query, "input") as {
    properties?: Record<string, Schema>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    ...(required.includes(name) && { required: true }),
    schema,
  }));
}

/** The method and the path's words, for example `postAgentsCredentialsRotate`. */
function operationId(method: string, path: string): string {
  const words = path.slice("/api/".length).split("/");
  const named = words.map((word) => (word.startsWith("{") ? `By_${word.slice(1, -1)}` : word));
  return `${method.toLowerCase()}_${named.join("_")}`.replace(/[_-](\w)/g, (_all, letter: string) =>
    letter.toUpperCase(),
  );
}

function schemaOf(schema: z.ZodType, io: "input" | "output"): Schema {
  const { $schema: _dialect, ...written } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    override: ({ jsonSchema }) => void delete jsonSchema.additionalProperties,
  });
  return written;
}
