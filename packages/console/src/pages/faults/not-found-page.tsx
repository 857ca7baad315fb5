import { Link } from "@tanstack/react-router";
import { buttonClass } from "../../ui/button.tsx";
import { PageHeader } from "../../ui/page-header.tsx";

/** For addresses that lead nowhere, and for things that are not there; `why` is the service's word on it. */
export function NotFoundPage({ why }: { why?: string }) {
  return (
    <div className="grid justify-items-center py-16 text-center">
      <PageHeader
        title="Not found"
        description={why ?? "The address is mistyped, or what it led to has been deleted."}
      />
      <Link to="/agents" className={buttonClass("primary")}>
        Go to agents
      </Link>
    </div>
  );
}
