import { Tabs as Base } from "@base-ui/react/tabs";
import type { ReactNode } from "react";

export interface Tab<T extends string> {
  value: T;
  label: ReactNode;
  content: ReactNode;
}

interface TabsProps<T extends string> {
  tabs: readonly Tab<T>[];
  value: T;
  onChange: (value: T) => void;
  /** Shown at the end of the tab row. */
  actions?: ReactNode;
}

/** Tabs. Keep `value` in the URL if the choice must survive a reload. */
export function Tabs<T extends string>({ tabs, value, onChange, actions }: TabsProps<T>) {
  return (
    <Base.Root value={value} onValueChange={(next) => onChange(next as T)} className="min-w-0">
      <div className="border-line flex items-end justify-between gap-2 border-b">
        {/* Tabs wrap: in a row that scrolls, tabs at its edges are cut off, also the selected one. */}
        <Base.List className="-mb-px flex min-w-0 flex-wrap gap-x-1">
          {tabs.map((tab) => (
            <Base.Tab
              key={tab.value}
              value={tab.value}
              className="text-muted hover:text-text data-active:border-accent data-active:text-text border-b-2 border-transparent px-2 py-1.5 text-sm font-medium whitespace-nowrap focus-visible:outline-offset-[-2px]"
            >
              {tab.label}
            </Base.Tab>
          ))}
        </Base.List>
        {actions}
      </div>
      {tabs.map((tab) => (
        <Base.Panel key={tab.value} value={tab.value} className="pt-3">
          {tab.content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
