import type { RunSummary } from "@patchbay/protocol/console";
import { countOf } from "../../format/words.ts";
import { Button } from "../../ui/button.tsx";
import { Menu, MenuItem, MenuSection } from "../../ui/popover.tsx";
import { download } from "./download.ts";

/** Saves the runs that are shown. */
export function ExportRuns({ agentId, runs }: { agentId: string; runs: readonly RunSummary[] }) {
  const name = `runs-${agentId}`;
  const lines = () => runs.map((run) => `${JSON.stringify(run)}\n`).join("");
  return (
    <Menu trigger={<Button icon="download">Export</Button>}>
      <MenuSection title={`${countOf(runs.length, "run")} shown`}>
        <MenuItem
          disabled={runs.length === 0}
          onSelect={() => download(`${name}.json`, "application/json", JSON.stringify(runs, null, 2))}
        >
          JSON
        </MenuItem>
        <MenuItem
          disabled={runs.length === 0}
          onSelect={() => download(`${name}.ndjson`, "application/x-ndjson", lines())}
        >
          NDJSON, a run a line
        </MenuItem>
      </MenuSection>
    </Menu>
  );
}
