/** The pages of the site in reading order: the sidebar, and the order of `llms.txt`. */
export const sidebar = [
  {
    text: "Start",
    items: [{ text: "What Patchbay is", link: "/" }],
  },
  {
    text: "Guides",
    items: [
      { text: "Roles and authorize", link: "/guides/access" },
      { text: "Testing", link: "/guides/testing" },
      { text: "Connecting functions", link: "/guides/connecting" },
      { text: "Threads", link: "/guides/threads" },
      { text: "Structured answers", link: "/guides/structured-answers" },
      { text: "Hooks", link: "/guides/hooks" },
      { text: "Fallback models", link: "/guides/fallback" },
      { text: "Settings of an agent", link: "/guides/agent-settings" },
      { text: "The console", link: "/guides/console" },
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
