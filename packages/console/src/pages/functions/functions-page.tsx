import { getRouteApi } from "@tanstack/react-router";
import { PageHeader } from "../../ui/page-header.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { TimeRange } from "../../ui/time-range.tsx";
import { FunctionList } from "./function-list.tsx";
import { FunctionSets } from "./function-sets.tsx";

const route = getRouteApi("/shell/agents/$agentId/functions");

/** What an agent can do: the functions that its runtimes bring, and the sets that they brought before. */
export function FunctionsPage() {
  const { view = "list", ...search } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <>
      <PageHeader
        title="Functions"
        description="What the model may call, with how it was called. The code and the data stay with your runtimes."
        actions={
          view === "list" && (
            <TimeRange
              value={search}
              onChange={(range) => void navigate({ search: (before) => ({ ...before, ...range }), replace: true })}
            />
          )
        }
      />
      <Tabs
        value={view}
        onChange={(next) =>
          void navigate({
            search: (before) => ({
              ...before,
              view: next === "list" ? undefined : next,
              manifestHash: undefined,
              base: undefined,
            }),
            replace: true,
          })
        }
        tabs={[
          { value: "list", label: "Functions", content: <FunctionList /> },
          { value: "sets", label: "Versions", content: <FunctionSets /> },
        ]}
      />
    </>
  );
}
