import { useSession } from "../../state/session.ts";
import { shellQuote } from "../../format/snippets.ts";
import { Card } from "../../ui/card.tsx";
import { Command } from "../../ui/code.tsx";
import { Icon } from "../../ui/icon.tsx";

/** Of tiers that cost nothing: the sandbox. */
export function NotCharged() {
  const { organisation } = useSession();
  return (
    <Card>
      <div className="flex items-start gap-3">
        <Icon name="info" className="text-info mt-0.5 size-4" />
        <p className="min-w-0 text-sm">
          <span className="font-medium">Queries of the {organisation.tier} tier cost no credits.</span>{" "}
          <span className="text-muted">
            What models would cost is under Analytics all the same. On a charged tier each turn holds credits before the
            model is asked, and settles what it cost.
          </span>
        </p>
      </div>
    </Card>
  );
}

/** Of charged tiers without a balance: every query fails. */
export function NoneGranted() {
  const { organisation } = useSession();
  return (
    <Card>
      <div className="grid gap-3">
        <div className="flex items-start gap-3">
          <Icon name="alert" className="text-bad mt-0.5 size-4" />
          <p className="min-w-0 text-sm">
            <span className="font-medium">There are no credits left.</span>{" "}
            <span className="text-muted">
              Queries are refused with “insufficient_credits” until some are added. Whoever runs the service adds them:
            </span>
          </p>
        </div>
        <Command text={`patchbay credits grant --org ${shellQuote(organisation.orgId)} 50`} />
      </div>
    </Card>
  );
}
