/** The pages of the site in reading order: the sidebar, and the order of `llms.txt`. */
export const sidebar = [
  {
    text: "Start",
    items: [
      { text: "What Patchbay is", link: "/" },
      { text: "Tutorial", link: "/tutorial" },
      { text: "Concepts", link: "/concepts" },
    ],
  },
  {
    text: "Functions and roles",
    items: [
      { text: "Functions, schemas and results", link: "/guides/functions" },
      { text: "Roles and authorize", link: "/guides/access" },
      { text: "Approval by people", link: "/guides/approval" },
      { text: "Context and subject", link: "/guides/context" },
      { text: "Hooks", link: "/guides/hooks" },
      { text: "Tools of MCP servers", link: "/guides/mcp-servers" },
      { text: "Testing", link: "/guides/testing" },
      { text: "Testing access in CI", link: "/guides/access-in-ci" },
      { text: "Evidence for auditors", link: "/guides/evidence" },
    ],
  },
  {
    text: "Clients",
    items: [
      { text: "Queries over HTTP", link: "/guides/http" },
      { text: "Streaming clients", link: "/guides/streaming" },
      { text: "Threads", link: "/guides/threads" },
      { text: "Structured answers", link: "/guides/structured-answers" },
      { text: "A chat in your application", link: "/guides/chat" },
      { text: "Chats of the AI SDK", link: "/guides/ai-sdk" },
      { text: "OpenAI clients and chat apps", link: "/guides/openai-clients" },
      { text: "Functions in MCP clients", link: "/guides/mcp" },
      { text: "Client tokens", link: "/guides/client-tokens" },
      { text: "Proven callers", link: "/guides/callers" },
      { text: "Webhooks", link: "/guides/webhooks" },
    ],
  },
  {
    text: "Models",
    items: [
      { text: "Models and prices", link: "/guides/models" },
      { text: "Settings of an agent", link: "/guides/agent-settings" },
      { text: "Fallback models", link: "/guides/fallback" },
    ],
  },
  {
    text: "Operation",
    items: [
      { text: "Deploying", link: "/guides/deploying" },
      { text: "Connecting functions", link: "/guides/connecting" },
      { text: "Administration over HTTP", link: "/guides/administration" },
      { text: "The console", link: "/guides/console" },
      { text: "Logs and metrics", link: "/guides/logs-and-metrics" },
      { text: "Tracing", link: "/guides/tracing" },
      { text: "Upgrading and restoring", link: "/guides/upgrading" },
      { text: "Troubleshooting by code", link: "/guides/troubleshooting" },
    ],
  },
  {
    text: "Reference",
    items: [
      { text: "Overview", link: "/reference/" },
      { text: "defineFunction", link: "/reference/define-function" },
      { text: "defineService", link: "/reference/define-service" },
      { text: "connect", link: "/reference/connect" },
      { text: "Command line", link: "/reference/cli" },
      { text: "Configuration", link: "/reference/configuration" },
      { text: "Limits", link: "/reference/limits" },
      { text: "HTTP", link: "/reference/http" },
      { text: "The runtimes' wire", link: "/reference/wire" },
      { text: "Codes", link: "/reference/codes" },
      { text: "Metrics", link: "/reference/metrics" },
    ],
  },
  {
    text: "Project",
    items: [
      { text: "Architecture", link: "/architecture" },
      { text: "Reliability", link: "/reliability" },
      { text: "Performance", link: "/performance" },
      { text: "Releasing", link: "/releasing" },
    ],
  },
];
