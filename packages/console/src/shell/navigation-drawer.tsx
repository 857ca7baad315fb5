import { Dialog } from "@base-ui/react/dialog";
import { IconButton } from "../ui/button.tsx";
import { Sidebar } from "./sidebar.tsx";

/** The menu of pages on narrow screens. */
export function NavigationDrawer({ onClose }: { onClose: () => void }) {
  return (
    <Dialog.Root open onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fades bg-veil fixed inset-0 z-40" />
        <Dialog.Popup className="slides-left border-line bg-raised fixed inset-y-0 left-0 z-40 w-72 max-w-[85vw] overflow-y-auto border-r p-3 outline-none">
          <div className="mb-3 flex items-center justify-between pl-2.5">
            <Dialog.Title className="text-base font-semibold">Pages</Dialog.Title>
            <Dialog.Close render={<IconButton icon="close" label="Close" size="small" />} />
          </div>
          <Sidebar onNavigate={onClose} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
