import type { RunView } from "@patchbay/protocol/console";
import { useState } from "react";
import { useAction } from "../../api/action.ts";
import { api, refetch, useFiltered, useHasRole } from "../../api/api.ts";
import { formatCompact } from "../../format/numbers.ts";
import { runs as searchOfRuns } from "../../state/page-search.ts";
import { Button, IconButton, useDisabledReason } from "../../ui/button.tsx";
import { Dialog, FormDialog } from "../../ui/form/dialog.tsx";
import { TextField } from "../../ui/form/field.tsx";
import { ErrorState } from "../../ui/page.tsx";
import { Menu, MenuItem, MenuSection, MenuSeparator } from "../../ui/popover.tsx";
import { showError } from "../../ui/toast.tsx";
import { Checkbox } from "../../ui/form/toggle.tsx";
import { filterOf, type RunsSearch } from "./run-filters.tsx";

const PATH = "/agents/:agent_id/views";

interface RunViewsProps {
  agentId: string;
  search: RunsSearch;
  /** Replaces the page's search. */
  onOpen: (search: RunsSearch) => void;
}

/** The list's kept views, each with its number of runs, and what keeps the present one. */
export function RunViews({ agentId, search, onOpen }: RunViewsProps) {
  const [dialog, setDialog] = useState<"save" | "manage">();
  const { data, error, refetch: again } = useFiltered(PATH, { params: { agentId } });
  const views = data?.views ?? [];
  const isEmpty = Object.keys(search).length === 0;
  return (
    <>
      <Menu trigger={<Button icon="filter">Views</Button>}>
        <div className="max-w-80">
          {error && !data && <ErrorState error={error} onRetry={() => void again()} />}
          <Group title="Yours" views={views.filter(({ own }) => own)} agentId={agentId} onOpen={onOpen} />
          <Group title="Shared by others" views={views.filter(({ own }) => !own)} agentId={agentId} onOpen={onOpen} />
          <Group title="In every agent" views={OF_EVERY_AGENT} agentId={agentId} onOpen={onOpen} />
          <MenuSeparator />
          <MenuItem
            icon="plus"
            reason={isEmpty ? "Choose a filter or an order first." : undefined}
            onSelect={() => setDialog("save")}
          >
            Save this view
          </MenuItem>
          {views.length > 0 && (
            <MenuItem icon="trash" onSelect={() => setDialog("manage")}>
              Delete views
            </MenuItem>
          )}
        </div>
      </Menu>
      {dialog === "save" && (
        <SaveView agentId={agentId} search={search} views={views} onClose={() => setDialog(undefined)} />
      )}
      {dialog === "manage" && <DeleteViews agentId={agentId} views={views} onClose={() => setDialog(undefined)} />}
    </>
  );
}

/** Views that no member has to save. */
const OF_EVERY_AGENT: readonly RunView[] = [
  { viewId: "after-writes", name: "Ended after writes", search: { trouble: "writes" }, shared: false, own: false },
];

interface GroupProps extends Pick<RunViewsProps, "agentId" | "onOpen"> {
  title: string;
  views: readonly RunView[];
}

function Group({ title, views, agentId, onOpen }: GroupProps) {
  if (views.length === 0) return null;
  return (
    <MenuSection title={title}>
      {views.map(({ viewId, name, search, shared, own }) => {
        // Another version's view can have parameters that this page does not know.
        const known = searchOfRuns(search);
        return (
          <MenuItem
            key={viewId}
            hint={
              <>
                {own && shared && <span className="text-muted text-xs">shared</span>}
                <ViewCount agentId={agentId} search={known} />
              </>
            }
            onSelect={() => onOpen(known)}
          >
            <span title={name}>{name}</span>
          </MenuItem>
        );
      })}
    </MenuSection>
  );
}

/** Counted when the menu opens. */
function ViewCount({ agentId, search }: Pick<RunViewsProps, "agentId" | "search">) {
  const { data } = useFiltered("/agents/:agent_id/run-totals", { params: { agentId }, query: filterOf(search) });
  return <span className="text-faint text-xs">{data ? formatCompact(data.runs) : "…"}</span>;
}

interface SaveViewProps extends Pick<RunViewsProps, "agentId" | "search"> {
  views: readonly RunView[];
  onClose: () => void;
}

function SaveView({ agentId, search, views, onClose }: SaveViewProps) {
  const [name, setName] = useState("");
  const [shared, setShared] = useState(false);
  const reason = useDisabledReason("developer");
  const former = views.find((view) => view.own && view.name === name.trim());
  // Undefined values are not sent.
  const kept = search as Record<string, string>;
  /** Deletes the former view last, so that a failure loses nothing. */
  async function save() {
    await api.post(PATH, { params: { agentId }, body: { name: name.trim(), shared, search: kept } });
    if (former) await api.delete(`${PATH}/:view_id`, { params: { agentId, viewId: former.viewId } });
  }
  return (
    <FormDialog
      title="Save this view"
      description="Keeps the filters, the time range and the order under a name."
      submit={former ? "Replace" : "Save"}
      disabled={name.trim() === ""}
      send={save}
      refetches={[PATH]}
      done={former ? "Replaced the view" : "Saved the view"}
      onClose={onClose}
    >
      <TextField label="Name" value={name} onChange={setName} required maxLength={200} />
      {former && <p className="text-warn text-sm">You have a view with this name. Saving replaces it.</p>}
      <Checkbox label="Share with all members" checked={shared} onChange={setShared} disabled={reason !== undefined} />
      {reason !== undefined && <p className="text-muted text-xs">{reason}</p>}
    </FormDialog>
  );
}

function DeleteViews({ agentId, views, onClose }: { agentId: string; views: readonly RunView[]; onClose: () => void }) {
  const isOwner = useHasRole("owner");
  const remove = useAction({
    mutationFn: (viewId: string) => api.delete(`${PATH}/:view_id`, { params: { agentId, viewId } }),
    onError: (error) => showError("Couldn't delete the view", error),
    onSettled: () => refetch(PATH),
  });
  return (
    <Dialog open onClose={onClose} title="Delete views">
      <ul aria-label="Views" className="grid gap-1">
        {views.map(({ viewId, name, shared, own }) => (
          <li key={viewId} className="flex items-center gap-3 text-sm">
            <span className="min-w-0 flex-1 truncate">{name}</span>
            {shared && <span className="text-muted text-xs">{own ? "shared" : "shared by another member"}</span>}
            <IconButton
              icon="trash"
              label={`Delete ${name}`}
              size="small"
              disabled={!own && !isOwner}
              onClick={() => remove.mutate(viewId)}
            />
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
