import { CONSOLE_ROUTES, ConsoleProblem, type ConsoleRoute } from "@patchbay/protocol/console";
import { z } from "zod";

type Schema = Record<string, unknown>;

const FAILURES: Record<string, string> = {
  "400": "The request is not valid; `details` lists what is wrong",
  "401": "Nobody is signed in, or the session is over",
  "403":
    "Not from a page of this service (`csrf_refused`), not for this role (`console_role_required`), or only after the password was given again (`confirmation_required`)",
  "404": "There is no such thing in this organisation",
  "409": "It does not go with what is there (`conflict`)",
  "413": "The body is too large",
  "415": "The body is not JSON",
  "429": "Too many attempts, or the rate limit of the organisation's tier is used up; see Retry-After",
  "500": "Server error",
  "503": "Out of service for a moment; see Retry-After",
};

/** The console's interface as an OpenAPI 3.1 document, made from its table of routes. */
export function consoleDocument({ version, serverUrl }: { version: string; serverUrl: string }): Schema {
  const paths: Record<string, Record<string, Schema>> = {};
  for (const [name, route] of Object.entries(CONSOLE_ROUTES) as [string, ConsoleRoute][]) {
    const [method = "", path = ""] = name.split(" ");
    const written = `/api${path.replace(/:(\w+)/g, "{$1}")}`;
    (paths[written] ??= {})[method.toLowerCase()] = operation(method, written, route);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Patchbay console",
      version,
      description:
        "What the console's pages use: signed in by a cookie, for pages of the same origin. Programs ask queries with an API key instead: see /openapi.json.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: serverUrl }],
    paths,
    components: {
      schemas: { ConsoleProblem: schemaOf(ConsoleProblem, "output") },
      securitySchemes: {
        session: {
          type: "apiKey",
          in: "cookie",
          name: "__Host-patchbay",
          description: "`patchbay-` and the port on plain http",
        },
      },
    },
  };
}

function operation(method: string, path: string, route: ConsoleRoute): Schema {
  const parameters = [...inPath(path), ...(route.query ? inQuery(route.query) : [])];
  return {
    operationId: operationId(method, path),
    summary: route.summary,
    "x-needs": route.needs,
    security: route.needs === "nobody" ? [] : [{ session: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(route.body && {
      requestBody: { required: true, content: { "application/json": { schema: schemaOf(route.body, "input") } } },
    }),
    responses: { ...success(route), ...Object.fromEntries(failuresOf(method, path, route).map(failure)) },
  };
}

function success({ answer, status }: ConsoleRoute): Record<string, Schema> {
  if (answer === "nothing") return { "204": { description: "Done" } };
  if (answer === "events") {
    const content = { "text/event-stream": { schema: { type: "string" } } };
    return { "200": { description: "Server-sent events", content } };
  }
  const content = { "application/json": { schema: schemaOf(answer, "output") } };
  return { [status ?? 200]: { description: status === 201 ? "Made" : "As asked", content } };
}

function failuresOf(method: string, path: string, { needs, body, query }: ConsoleRoute): string[] {
  const unsafe = method !== "GET";
  const open = needs === "nobody";
  return [
    ...(body || query ? ["400"] : []),
    "401",
    ...(unsafe || needs !== "viewer" ? ["403"] : []),
    ...(path.includes("{") || path.startsWith("/api/links") ? ["404"] : []),
    ...(unsafe && needs === "owner" ? ["409"] : []),
    ...(body ? ["413", "415"] : []),
    ...(open || path.endsWith("/confirm") || path.endsWith("/account") || path.endsWith("/playground") ? ["429"] : []),
    "500",
    "503",
  ];
}

function failure(status: string): [string, Schema] {
  const schema = { $ref: "#/components/schemas/ConsoleProblem" };
  return [status, { description: FAILURES[status], content: { "application/json": { schema } } }];
}

function inPath(path: string): Schema[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
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

/** For example `postAgentsCredentialsRotate`: the path's words after the method. */
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
