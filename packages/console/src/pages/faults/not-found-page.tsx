import { Link } from "@tanstack/react-router";
import { buttonClass } from "../../ui/button.tsx";
import { PageHeader } from "../../ui/page-header.tsx";

export function NotFoundPage() {
  return (
    <div className="mx-auto max-w-lg py-16 text-center">
      <PageHeader title="Page not found" description="The address is mistyped, or what it led to has been deleted." />
      <Link to="/agents" className={buttonClass("primary")}>
        Go to agents
      </Link>
    </div>
  );
}
