import { chosen, type Deed, inDialog, named, opened } from "./deed.ts";

/** Changes of the organisation, its members and accounts. */
export const ORGANISATION_DEEDS: Deed[] = [
  {
    at: "shell/header-menus.tsx",
    name: "sign out",
    open: () => "/console/agents",
    async button(page) {
      await page.getByRole("button", { name: /Account|Developer/ }).click();
      return page.getByRole("menuitem", { name: "Sign out" });
    },
  },
  {
    at: "pages/account/account-page.tsx",
    name: "change the own name",
    open: () => "/console/account",
    async button(page) {
      await page.getByLabel("Name", { exact: true }).fill("Dana");
      return named(page, "Save name");
    },
  },
  {
    at: "pages/account/account-page.tsx",
    name: "change the password",
    open: () => "/console/account",
    async button(page) {
      await page.getByLabel("Current password").fill("the one before");
      await page.getByLabel("New password").fill("correct horse battery");
      return named(page, "Change password");
    },
  },
  {
    at: "pages/organisation/settings-page.tsx",
    name: "rename the organisation",
    open: () => "/console/settings",
    async button(page) {
      await page.getByLabel("Name", { exact: true }).fill("Other");
      return named(page, "Save name");
    },
  },
  {
    at: "pages/organisation/service-tokens.tsx",
    name: "create a service token",
    open: () => "/console/settings",
    async button(page) {
      await named(page, "New service token").click();
      await page.getByText("Manage agents").click();
      return inDialog(page, "Create service token");
    },
  },
  ...["Rotate", "Revoke"].map((item): Deed => ({
    at: "pages/organisation/service-tokens.tsx",
    name: `${item.toLowerCase()} a service token`,
    open: () => "/console/settings",
    async button(page) {
      await chosen(page, "Change ci", item);
      return inDialog(page, item === "Rotate" ? item : "Revoke service token");
    },
  })),
  {
    at: "pages/members/invite-member.tsx",
    name: "invite a member",
    open: () => "/console/members",
    async button(page) {
      await named(page, "Invite a member").click();
      await page.getByLabel("E-mail").fill("bob@example.com");
      return inDialog(page, "Create invite link");
    },
  },
  {
    at: "pages/members/members-page.tsx",
    name: "withdraw a link",
    open: () => "/console/members",
    async button(page) {
      await page
        .getByRole("button", { name: /^Withdraw/ })
        .first()
        .click();
      return inDialog(page, "Withdraw");
    },
  },
  {
    at: "pages/members/change-member.tsx",
    name: "change the role of a member",
    open: () => "/console/members",
    async button(page) {
      await chosen(page, "Change viewer", "Change role");
      await page.getByRole("dialog").getByText("developer", { exact: false }).first().click();
      return inDialog(page, "Change role");
    },
  },
  {
    at: "pages/members/change-member.tsx",
    name: "create a link for a member",
    open: () => "/console/members",
    async button(page) {
      await chosen(page, "Change viewer", "New link");
      return inDialog(page, "Create link");
    },
  },
  {
    at: "pages/members/change-member.tsx",
    name: "remove a member",
    open: () => "/console/members",
    async button(page) {
      await chosen(page, "Change viewer", "Remove");
      return inDialog(page, "Remove member");
    },
  },
  {
    at: "pages/sign-in/sign-in-page.tsx",
    name: "sign in",
    signedOut: true,
    open: () => "/console/sign-in",
    async button(page) {
      await page.getByLabel("E-mail").fill("ann@example.com");
      await page.getByLabel("Password").fill("correct horse battery");
      return named(page, "Sign in");
    },
  },
  {
    at: "pages/sign-in/link-page.tsx",
    name: "accept an invitation",
    signedOut: true,
    open: ({ invitation }) => invitation,
    async button(page) {
      await page.getByLabel("Your name").fill("Ann");
      await page.getByLabel("Password").fill("correct horse battery");
      return named(page, "Join");
    },
    request: /\/links\/accept$/,
  },
  {
    at: "pages/audit/audit-page.tsx",
    name: "export the audit log",
    open: () => "/console/audit",
    button: (page) => named(page, "Export NDJSON"),
    request: /\/audit\?.*limit=100/,
  },
  {
    at: "pages/approvals/approval-panel.tsx",
    name: "approve a call",
    open: () => "/console/approvals",
    async button(page) {
      await opened(page);
      return inDialog(page, "Approve");
    },
  },
  {
    at: "pages/approvals/approval-panel.tsx",
    name: "reject a call",
    twin: true,
    open: () => "/console/approvals",
    async button(page) {
      await opened(page);
      return inDialog(page, "Reject");
    },
  },
];
