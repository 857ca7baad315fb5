import { chosen, type Deed, inDialog, named } from "./deed.ts";

/** Runs, and changes of them. */
export const RUN_DEEDS: Deed[] = [
  {
    at: "pages/runs/run-header.tsx",
    name: "run again",
    open: ({ agent, runId }) => `${agent}/runs/${runId}`,
    button: (page) => named(page, "Run again"),
  },
  {
    at: "parts/run/ask-first.tsx",
    name: "run again what wrote",
    open: ({ agent, waitingId }) => `${agent}/runs/${waitingId}`,
    async button(page) {
      await named(page, "Run again").click();
      return inDialog(page, "Run again");
    },
  },
  {
    at: "pages/runs/retry-run.tsx",
    name: "retry a run",
    open: ({ agent, runId }) => `${agent}/runs/${runId}`,
    async button(page) {
      // The run of the stage succeeded.
      await page.route(/\/api\/agents\/[^/]+\/runs\/run_\w+$/, async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...((await response.json()) as object), code: "provider_error" } });
      });
      await page.reload();
      await named(page, "Retry").click();
      return inDialog(page, "Retry");
    },
  },
  {
    at: "pages/runs/run-header.tsx",
    name: "cancel a run",
    open: ({ agent, waitingId }) => `${agent}/runs/${waitingId}`,
    button: (page) => named(page, "Cancel run"),
  },
  {
    at: "pages/runs/run-sums.tsx",
    name: "run several again",
    open: ({ agent }) => `${agent}/runs?status=succeeded`,
    async button(page) {
      await page.getByRole("checkbox", { name: /^Select the \d+ loaded run/ }).click();
      await named(page, "Run again").click();
      return inDialog(page, "Run again");
    },
  },
  {
    at: "pages/runs/run-sums.tsx",
    name: "cancel several runs",
    twin: true,
    open: ({ agent }) => `${agent}/runs?status=waiting`,
    async button(page) {
      await page.getByRole("checkbox", { name: /^Select the \d+ loaded run/ }).click();
      await page.getByRole("button", { name: /^Cancel \d+ run/ }).click();
      return page.getByRole("dialog").getByRole("button", { name: /^Cancel \d+ run/ });
    },
  },
  {
    at: "pages/runs/run-feedback.tsx",
    name: "save feedback",
    open: ({ agent, runId }) => `${agent}/runs/${runId}`,
    async button(page) {
      await page.getByRole("tab", { name: /Feedback/ }).click();
      await page.getByLabel("Comment").fill("Late");
      return named(page, "Save feedback");
    },
  },
  {
    at: "pages/runs/run-feedback.tsx",
    name: "remove feedback",
    open: ({ agent, runId }) => `${agent}/runs/${runId}`,
    async button(page) {
      await page.getByRole("tab", { name: /Feedback/ }).click();
      return named(page, "Remove feedback");
    },
  },
  {
    at: "pages/runs/run-views.tsx",
    name: "save a view",
    open: ({ agent }) => `${agent}/runs?status=failed`,
    async button(page) {
      await chosen(page, /^Views/, "Save this view");
      await page.getByRole("dialog").getByLabel("Name").fill("Failures");
      return inDialog(page, "Save");
    },
  },
  {
    at: "pages/runs/run-views.tsx",
    name: "delete a view",
    open: ({ agent }) => `${agent}/runs`,
    async button(page) {
      await chosen(page, /^Views/, "Delete views");
      return page
        .getByRole("dialog")
        .getByRole("button", { name: /^Delete/ })
        .first();
    },
  },
  {
    at: "pages/threads/thread-page.tsx",
    name: "erase a thread",
    open: ({ agent, threadId }) => `${agent}/threads/${threadId}`,
    async button(page) {
      await named(page, "Erase").click();
      return inDialog(page, "Erase thread");
    },
  },
  {
    at: "pages/functions/test-run.ts",
    name: "call a function",
    open: ({ agent }) => `${agent}/functions/get_order?role=agent&tab=try`,
    async button(page) {
      await page.getByRole("textbox", { name: /order/ }).fill("W1");
      return page.getByRole("button", { name: /^Call as agent/ });
    },
  },
  {
    at: "pages/playground/use-playground.ts",
    name: "send a query",
    open: ({ agent }) => `${agent}/playground`,
    async button(page) {
      await page.getByRole("textbox", { name: "Query" }).fill("Get order W1");
      return page.getByRole("button", { name: /^Send/ });
    },
  },
];
