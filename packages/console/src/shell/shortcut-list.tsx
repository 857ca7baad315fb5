import { Dialog } from "../ui/dialog.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { AGENT_PAGES, ORGANISATION_PAGES } from "./navigation.ts";

const GENERAL: [keys: string, does: string][] = [
  ["mod K", "Find a page, an agent or a run"],
  ["/", "Search this list"],
  ["j", "Next row"],
  ["k", "Row before"],
  ["Enter", "Open the row"],
  ["Esc", "Close what is open"],
  ["?", "This list"],
];

/** Every key that does something. Pages with keys of their own name them beside what they do. */
export function ShortcutList({ onClose }: { onClose: () => void }) {
  return (
    <Dialog open onClose={onClose} title="Keyboard shortcuts" wide>
      <div className="grid gap-6 sm:grid-cols-3">
        <Group title="Everywhere" keys={GENERAL} />
        <Group title="Go to, of an agent" keys={AGENT_PAGES.map(({ key, label }) => [`g ${key}`, label])} />
        <Group title="Go to" keys={ORGANISATION_PAGES.map(({ key, label }) => [`g ${key}`, label])} />
      </div>
    </Dialog>
  );
}

function Group({ title, keys }: { title: string; keys: [keys: string, does: string][] }) {
  return (
    <section>
      <h3 className="text-muted mb-2 text-xs font-medium">{title}</h3>
      <dl className="grid gap-1.5 text-sm">
        {keys.map(([keys, does]) => (
          <div key={keys} className="flex items-center justify-between gap-3">
            <dt>{does}</dt>
            <dd>
              <Kbd keys={keys} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
