import type { ConsoleRole } from "@patchbay/protocol/console";
import { Radio } from "@base-ui/react/radio";
import { RadioGroup } from "@base-ui/react/radio-group";

/** What each role may do, least first. */
export const ROLES: { role: ConsoleRole; may: string }[] = [
  { role: "viewer", may: "Sees everything but secrets: runs, threads, functions, access, audit and usage." },
  { role: "developer", may: "Also manages agents and keys, asks queries, tries functions and erases threads." },
  { role: "owner", may: "Also manages members and the organisation, and deletes agents." },
];

export function RoleField({ value, onChange }: { value: ConsoleRole; onChange: (role: ConsoleRole) => void }) {
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 text-sm font-medium">Role</legend>
      <RadioGroup value={value} onValueChange={(next) => onChange(next)} className="grid gap-2">
        {ROLES.map(({ role, may }) => (
          <label
            key={role}
            className="border-line hover:border-edge has-data-checked:border-accent has-data-checked:bg-accent-soft flex gap-3 rounded-lg border px-3 py-2 transition-colors"
          >
            <Radio.Root
              value={role}
              className="border-edge bg-surface data-checked:border-accent-fill mt-0.5 flex size-4 shrink-0 items-center justify-center rounded-full border"
            >
              <Radio.Indicator className="bg-accent-fill size-2 rounded-full" />
            </Radio.Root>
            <span className="min-w-0">
              <span className="block text-sm font-medium">{role}</span>
              <span className="text-muted block text-xs">{may}</span>
            </span>
          </label>
        ))}
      </RadioGroup>
    </fieldset>
  );
}
