import type { TestCounts } from "@patchbay/protocol/console";
import { useQuery } from "@tanstack/react-query";
import { resource } from "../../api/api.ts";
import { urlOf } from "../../api/routes.ts";
import { countOf } from "../../format/numbers.ts";
import { Button } from "../../ui/button.tsx";
import { Menu, MenuItem, MenuSection } from "../../ui/popover.tsx";
import type { filterOf, RunsSearch } from "./run-filters.tsx";

type ExportQuery = ReturnType<typeof filterOf> & { sort: NonNullable<RunsSearch["sort"]> };

const FORMATS = [
  { format: "csv", label: "CSV" },
  { format: "ndjson", label: "NDJSON, one run per line" },
  { format: "json", label: "JSON" },
];

/** Downloads of all runs that match, also of those that are not loaded, in the order of the list. */
export const ExportMenu = ({ agentId, query }: { agentId: string; query: ExportQuery }) => (
  <Menu trigger={<Button icon="download">Export</Button>}>
    <MenuSection title="All runs that match">
      {FORMATS.map(({ format, label }) => (
        <MenuItem
          key={format}
          link={<a download href={urlOf("/agents/:agent_id/run-export", { agentId }, { ...query, format })} />}
        >
          {label}
        </MenuItem>
      ))}
      <TestsItem agentId={agentId} query={query} />
    </MenuSection>
  </Menu>
);

/** The download of tests, with their number. They are counted when the menu opens. */
function TestsItem({ agentId, query }: { agentId: string; query: ExportQuery }) {
  const params = { agentId };
  const { data } = useQuery(resource("/agents/:agent_id/run-export/tests", { params, query }));
  const none = data?.tests === 0;
  return (
    <MenuItem
      link={<a download href={urlOf("/agents/:agent_id/run-export", params, { ...query, format: "tests" })} />}
      reason={none ? (data.left === 0 ? "No runs match." : "No run that matches can be replayed.") : undefined}
    >
      Test files that replay them, up to 200 runs
      {data && !none && <span className="text-muted block text-xs">{countsInWords(data)}</span>}
    </MenuItem>
  );
}

/** For example "12 tests, 2 need an edit, 1 run left out". */
const countsInWords = ({ tests, toEdit, left }: TestCounts): string =>
  [
    countOf(tests, "test"),
    toEdit > 0 && `${toEdit} ${toEdit === 1 ? "needs" : "need"} an edit`,
    left > 0 && `${countOf(left, "run")} left out`,
  ]
    .filter(Boolean)
    .join(", ");
