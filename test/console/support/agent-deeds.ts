import { type Deed, inDialog, named, opened } from "./deed.ts";

/** Changes of agents, their keys and webhooks. */
export const AGENT_DEEDS: Deed[] = [
  {
    at: "pages/agents/agent-dialogs.tsx",
    name: "create an agent",
    open: () => "/console/agents?create=1",
    async button(page) {
      await page.getByRole("dialog").getByLabel("Name", { exact: true }).fill("Second");
      return inDialog(page, "Create agent");
    },
  },
  {
    at: "pages/agents/agent-dialogs.tsx",
    name: "delete an agent",
    open: ({ empty }) => `${empty}/settings`,
    async button(page) {
      await named(page, "Delete agent").click();
      await page.getByRole("dialog").getByRole("textbox").fill("Empty");
      return inDialog(page, "Delete agent");
    },
  },
  {
    at: "pages/agents/first-steps.tsx",
    name: "create the first runtime key",
    open: ({ empty }) => empty,
    button: (page) => named(page, "Create runtime key"),
  },
  {
    at: "pages/agents/agent-settings-form.tsx",
    name: "save the settings of an agent",
    open: ({ agent }) => `${agent}/settings`,
    async button(page) {
      await page.getByLabel("Name", { exact: true }).first().fill("Renamed");
      return named(page, "Save").first();
    },
  },
  {
    at: "parts/access/widened-sets.tsx",
    name: "confirm widened access",
    open: ({ agent }) => `${agent}/access`,
    async button(page) {
      await page
        .getByRole("button", { name: /^Confirm deployment/ })
        .first()
        .click();
      return inDialog(page, "Confirm");
    },
  },
  {
    at: "parts/access/access-review.tsx",
    name: "sign off the access",
    open: ({ agent }) => `${agent}/access`,
    async button(page) {
      await named(page, "Sign off").click();
      return inDialog(page, "Sign off");
    },
  },
  {
    at: "pages/keys/create-key.tsx",
    name: "create a key",
    open: ({ agent }) => `${agent}/keys`,
    async button(page) {
      await named(page, "New API key").click();
      return page.getByRole("dialog").getByRole("button", { name: /^Create/ });
    },
  },
  ...["Rotate", "Revoke"].map((name): Deed => ({
    at: "pages/keys/key-panel.tsx",
    name: `${name.toLowerCase()} a key`,
    open: ({ agent }) => `${agent}/keys`,
    async button(page) {
      await opened(page);
      await inDialog(page, name).click();
      const dialog = page.getByRole("dialog", { name: new RegExp(`^${name} `) });
      return dialog.getByRole("button", { name: name === "Rotate" ? name : "Revoke API key" });
    },
  })),
  {
    at: "pages/webhook/webhook-page.tsx",
    name: "send a test to the webhook",
    open: ({ agent }) => `${agent}/webhook`,
    button: (page) => named(page, "Send a test"),
  },
  {
    at: "pages/webhook/webhook-page.tsx",
    name: "send a delivery again",
    open: ({ agent }) => `${agent}/webhook`,
    async button(page) {
      // The head of the audit log is delivered, too, some minutes after the start.
      await opened(page, "webhook.test");
      return inDialog(page, "Send again");
    },
  },
  {
    at: "pages/webhook/webhook-dialogs.tsx",
    name: "change the address of the webhook",
    open: ({ agent }) => `${agent}/webhook`,
    async button(page) {
      await named(page, "Change address").click();
      await page.getByRole("dialog").getByLabel("Address").fill("https://other.example/");
      return inDialog(page, "Save");
    },
  },
  {
    at: "pages/webhook/webhook-dialogs.tsx",
    name: "rotate the secret of the webhook",
    open: ({ agent }) => `${agent}/webhook`,
    async button(page) {
      await named(page, "Rotate secret").click();
      return inDialog(page, "Rotate");
    },
  },
  {
    at: "pages/webhook/webhook-dialogs.tsx",
    name: "remove the webhook",
    open: ({ agent }) => `${agent}/webhook`,
    async button(page) {
      await named(page, "Remove").click();
      return inDialog(page, "Remove");
    },
  },
];
