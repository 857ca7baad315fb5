import { Dialog as Base } from "@base-ui/react/dialog";
import { IconButton } from "../ui/button.tsx";
import { Dialog } from "../ui/form/dialog.tsx";
import { Kbd } from "../ui/values.tsx";
import { AGENT_PAGES, ORGANISATION_PAGES } from "./navigation.ts";
import { Sidebar } from "./sidebar.tsx";

const GENERAL: [keys: string, does: string][] = [
  ["mod K", "Search by name, text or ID"],
  ["/", "Search this list"],
  ["j", "Next row"],
  ["k", "Previous row"],
  ["Enter", "Open the row"],
  ["Esc", "Close the panel or dialog"],
  ["?", "Show keyboard shortcuts"],
];

/** The shortcuts on all pages. A page shows its own shortcuts next to its buttons. */
export const ShortcutList = ({ onClose }: { onClose: () => void }) => (
  <Dialog open onClose={onClose} title="Keyboard shortcuts" wide>
    <div className="grid gap-6 sm:grid-cols-3">
      <Group title="Everywhere" keys={GENERAL} />
      <Group title="Agent pages" keys={AGENT_PAGES.map(({ key, label }) => [`g ${key}`, label])} />
      <Group title="Organisation pages" keys={ORGANISATION_PAGES.map(({ key, label }) => [`g ${key}`, label])} />
    </div>
  </Dialog>
);

const Group = ({ title, keys }: { title: string; keys: [keys: string, does: string][] }) => (
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

/** The navigation on narrow screens. */
export const NavigationDrawer = ({ onClose }: { onClose: () => void }) => (
  <Base.Root open onOpenChange={(next) => !next && onClose()}>
    <Base.Portal>
      <Base.Backdrop className="fades bg-veil fixed inset-0 z-40" />
      <Base.Popup className="slides-left border-line bg-raised fixed inset-y-0 left-0 z-40 w-72 max-w-[85vw] overflow-y-auto border-r p-3 outline-none">
        <div className="mb-3 flex items-center justify-between pl-2.5">
          <Base.Title className="text-base font-semibold">Pages</Base.Title>
          <Base.Close render={<IconButton icon="close" label="Close" size="small" />} />
        </div>
        <Sidebar onNavigate={onClose} />
      </Base.Popup>
    </Base.Portal>
  </Base.Root>
);
