import { Button, IconButton } from "../../ui/button.tsx";

/** The label for one entry in a list or a record. `of`: the entry's field, which is above it on the page. */
export const EntryLabel = ({ of, children }: { of?: string; children: string }) => (
  <span className="text-muted text-xs font-normal">
    {of !== undefined && <span className="sr-only">{of} </span>}
    {children}
  </span>
);

/** Removes one entry. */
export const RemoveButton = ({ name, onClick }: { name: string; onClick: () => void }) => (
  <IconButton icon="close" label={`Remove ${name}`} className="mt-5" onClick={onClick} />
);

interface AddButtonProps {
  name: string;
  verb?: "Add" | "Set";
  onClick: () => void;
}

/** Adds an entry, or sets an optional field. */
export const AddButton = ({ name, verb = "Add", onClick }: AddButtonProps) => (
  <div>
    <Button size="small" icon="plus" onClick={onClick}>
      {verb} <span className="sr-only">{verb === "Add" ? `to ${name}` : name}</span>
    </Button>
  </div>
);
