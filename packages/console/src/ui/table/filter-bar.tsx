import { type ReactNode, useRef, useState } from "react";
import { Button } from "../button.tsx";
import { Combobox } from "../form/combobox.tsx";
import { Menu, MenuItem } from "../popover.tsx";
import { SearchField } from "./search-field.tsx";
import { type Option, Select } from "../form/select.tsx";

type Values = Record<string, string | undefined>;

export type Filter<Name extends string> = {
  name: Name;
  label: string;
  /** Shown only while it has a value, or after a choice from the further filters menu. */
  further?: boolean;
} & (
  | { kind: "search" }
  /** `any` is the label for the choice without a value. */
  | { kind: "choice"; options: readonly (string | Option)[]; any?: string }
  | { kind: "text"; suggestions: readonly string[] }
);

interface FilterBarProps<Name extends string> {
  filters: readonly Filter<Name>[];
  values: { [N in Name]?: string | undefined };
  onChange: (changed: { [N in Name]?: string | undefined }) => void;
  /** Shown after the filters: a time range, a link to export. */
  children?: ReactNode;
}

/**
 * A list's filters. Values are the page's search parameters; `onChange` gets the changed ones, undefined for a cleared
 * filter.
 */
export function FilterBar<Name extends string>({ filters, values, onChange, children }: FilterBarProps<Name>) {
  const loose = values as Values;
  const change = onChange as (changed: Values) => void;
  const active = filters.filter(({ name }) => loose[name] !== undefined);
  const [added, setAdded] = useState<readonly string[]>([]);
  /** Set while the menu closes after a choice: the focus goes to the new filter and not back to the menu's button. */
  const isAdding = useRef(false);
  function backToButton(): boolean {
    const back = !isAdding.current;
    isAdding.current = false;
    return back;
  }
  const isShown = ({ name, further = false }: Filter<Name>) =>
    !further || loose[name] !== undefined || added.includes(name);
  const hidden = filters.filter((filter) => !isShown(filter));
  return (
    <div role="search" className="flex flex-wrap items-center gap-2">
      {filters.filter(isShown).map((filter) => (
        <OneFilter
          key={filter.name}
          filter={filter}
          isNew={added.includes(filter.name)}
          value={loose[filter.name]}
          onChange={(value) => change({ [filter.name]: value === "" ? undefined : value })}
        />
      ))}
      {hidden.length > 0 && (
        <Menu align="start" trigger={<Button icon="plus">Filter</Button>} finalFocus={backToButton}>
          {hidden.map(({ name, label }) => (
            <MenuItem
              key={name}
              onSelect={() => {
                isAdding.current = true;
                setAdded([...added, name]);
              }}
            >
              {label}
            </MenuItem>
          ))}
        </Menu>
      )}
      {children}
      {active.length > 0 && (
        <Button
          look="ghost"
          icon="close"
          onClick={() => {
            setAdded([]);
            change(Object.fromEntries(active.map(({ name }) => [name, undefined])));
          }}
        >
          Clear {active.length === 1 ? "filter" : `${active.length} filters`}
        </Button>
      )}
    </div>
  );
}

const ANY = "";

interface OneFilterProps {
  filter: Filter<string>;
  /** Opens its list, and has the focus, when it appears. */
  isNew: boolean;
  value: string | undefined;
  onChange: (value: string) => void;
}

function OneFilter({ filter, isNew, value = ANY, onChange }: OneFilterProps) {
  if (filter.kind === "choice") {
    const options = filter.options.map((option) =>
      typeof option === "string" ? { value: option, label: option } : option,
    );
    const all = [{ value: ANY, label: filter.any ?? "any" }, ...options];
    // A link may select what is not in the list, such as a deleted agent.
    const known = all.some((option) => option.value === value);
    return (
      <Select
        label={filter.label}
        className="w-auto max-w-52 min-w-32"
        options={known ? all : [...all, { value, label: value }]}
        named
        defaultOpen={isNew}
        value={value}
        onChange={onChange}
      />
    );
  }
  if (filter.kind === "search") return <SearchField label={filter.label} value={value} onChange={onChange} />;
  return <TextFilter filter={filter} isNew={isNew} value={value} onChange={onChange} />;
}

interface TextFilterProps {
  filter: Extract<Filter<string>, { kind: "text" }>;
  isNew: boolean;
  value: string;
  onChange: (value: string) => void;
}

/** Applies its text on a choice, Enter or blur: values match exactly, so a partial text finds nothing. */
function TextFilter({ filter, isNew, value, onChange }: TextFilterProps) {
  const [draft, setDraft] = useState(value);
  const [applied, setApplied] = useState(value);
  if (value !== applied) {
    setApplied(value);
    setDraft(value);
  }
  const apply = (text: string) => text.trim() !== value && onChange(text.trim());
  return (
    <span
      className="inline-flex items-center gap-1.5"
      onBlur={() => apply(draft)}
      // Enter on a suggestion chooses it, which prevents the default.
      onKeyDown={(event) => event.key === "Enter" && !event.defaultPrevented && apply(draft)}
    >
      {draft !== "" && (
        <span aria-hidden="true" className="text-muted text-sm">
          {filter.label}:
        </span>
      )}
      <Combobox
        label={filter.label}
        placeholder={filter.label}
        suggestions={filter.suggestions}
        value={draft}
        onChange={setDraft}
        onChoice={apply}
        defaultOpen={isNew}
        className="w-32"
      />
    </span>
  );
}
