import type { ConsoleWebhook } from "@patchbay/protocol/console";
import type { ReactNode } from "react";
import { GuardedButton } from "../../ui/button.tsx";
import { Card, Facts } from "../../ui/page.tsx";
import { Time } from "../../ui/values.tsx";

export type WebhookDialog = "url" | "rotate" | "remove";

interface WebhookCardProps {
  webhook: ConsoleWebhook;
  onOpen: (dialog: WebhookDialog) => void;
}

/** The address and the secret of a webhook, with what changes them. */
export function WebhookCard({ webhook: { url, hint, previousEndsAt, createdAt }, onOpen }: WebhookCardProps) {
  const overlap: [string, ReactNode][] =
    previousEndsAt === null
      ? []
      : [
          [
            "Old secret",
            <>
              signs too until <Time at={previousEndsAt} exact />
            </>,
          ],
        ];
  return (
    <Card title="Receiver" className="max-w-4xl">
      <div className="grid gap-4">
        <Facts
          items={[
            ["Address", <code className="font-mono text-xs break-all">{url}</code>],
            ["Secret", <code className="font-mono text-xs">{hint}</code>],
            ...overlap,
            ["Added", <Time at={createdAt} exact />],
          ]}
        />
        <div className="flex flex-wrap gap-2">
          <GuardedButton needs="developer" icon="edit" onClick={() => onOpen("url")}>
            Change address
          </GuardedButton>
          <GuardedButton needs="developer" icon="retry" onClick={() => onOpen("rotate")}>
            Rotate secret
          </GuardedButton>
          <GuardedButton needs="developer" look="danger" icon="trash" onClick={() => onOpen("remove")}>
            Remove
          </GuardedButton>
        </div>
      </div>
    </Card>
  );
}
