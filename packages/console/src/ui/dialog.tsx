import { Dialog as Base } from "@base-ui/react/dialog";
import { useRef, type ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { IconButton } from "./button.tsx";

interface PanelProps {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  description?: ReactNode;
  children: ReactNode;
  /** At the end, kept in view: the buttons. */
  footer?: ReactNode;
}

const head = (title: ReactNode, description: ReactNode) => (
  <header className="border-line flex items-center justify-between gap-4 border-b px-5 py-3">
    <div className="min-w-0">
      <Base.Title className="text-lg font-semibold">{title}</Base.Title>
      {description !== undefined && <Base.Description className="text-muted text-sm">{description}</Base.Description>}
    </div>
    <Base.Close render={<IconButton icon="close" label="Close" size="small" className="-mr-1.5 self-start" />} />
  </header>
);

const foot = (footer: ReactNode) =>
  footer !== undefined && (
    <footer className="border-line bg-sunken flex flex-wrap items-center justify-end gap-2 rounded-b-xl border-t px-5 py-3">
      {footer}
    </footer>
  );

/** Where the focus goes on opening: the first field, or the panel itself, so that it is not on Close with its tooltip out. */
function useFirstFocus() {
  const popup = useRef<HTMLDivElement>(null);
  const initialFocus = () =>
    popup.current?.querySelector<HTMLElement>("input:not([type=hidden], [type=checkbox]), textarea, select") ??
    popup.current;
  return { ref: popup, initialFocus };
}

/** Asks or tells something before the page goes on. `sticky` is not closed by a click beside it: for secrets and long forms. */
export function Dialog({
  open,
  onClose,
  title,
  description,
  children,
  footer,
  wide = false,
  sticky = false,
}: PanelProps & { wide?: boolean; sticky?: boolean }) {
  const focus = useFirstFocus();
  return (
    <Base.Root open={open} onOpenChange={(next) => !next && onClose()} disablePointerDismissal={sticky}>
      <Base.Portal>
        <Base.Backdrop className="fades bg-veil fixed inset-0 z-40" />
        <Base.Viewport className="fixed inset-0 z-40 grid place-items-center overflow-y-auto p-3 sm:p-6">
          <Base.Popup
            {...focus}
            className={classNames(
              "rises border-line bg-raised shadow-raised flex w-full flex-col rounded-xl border outline-none",
              wide ? "max-w-3xl" : "max-w-lg",
            )}
          >
            {head(title, description)}
            <div className="min-w-0 px-5 py-4">{children}</div>
            {foot(footer)}
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}

/** A panel at the side with more about what was chosen; on narrow screens it covers the page. With `modal` false the page stays usable beside it. */
export function Drawer({
  open,
  onClose,
  title,
  description,
  children,
  footer,
  modal = true,
  wide = false,
}: PanelProps & { modal?: boolean; wide?: boolean }) {
  const focus = useFirstFocus();
  return (
    <Base.Root open={open} onOpenChange={(next) => !next && onClose()} modal={modal} disablePointerDismissal={!modal}>
      <Base.Portal>
        {modal && <Base.Backdrop className="fades bg-veil fixed inset-0 z-40" />}
        <Base.Popup
          {...focus}
          className={classNames(
            "slides-right border-line bg-raised shadow-raised fixed inset-y-0 right-0 z-40 flex w-full flex-col border-l outline-none",
            wide ? "sm:max-w-2xl" : "sm:max-w-md",
          )}
        >
          {head(title, description)}
          <div className="min-h-0 flex-1 overflow-y-auto px-5 py-4">{children}</div>
          {foot(footer)}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
