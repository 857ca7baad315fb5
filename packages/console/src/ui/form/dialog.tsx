import { Dialog as Base } from "@base-ui/react/dialog";
import { type ComponentProps, type ReactNode, useId, useRef } from "react";
import { useAction } from "../../api/action.ts";
import { refetch } from "../../api/api.ts";
import type { PathOf } from "../../api/routes.ts";
import { Button, IconButton } from "../button.tsx";
import { classNames } from "../class-names.ts";
import { showSuccess } from "../toast.tsx";
import { Form } from "./form.tsx";

interface PanelProps {
  open: boolean;
  onClose: () => void;
  title: ReactNode;
  description?: ReactNode;
  children: ReactNode;
  /** The buttons; always visible. */
  footer?: ReactNode;
}

interface PopupProps extends Omit<PanelProps, "open" | "onClose"> {
  className: string;
  bodyClassName: string;
}

/** Header, body and footer. Focuses the first field on opening, or the popup itself: focus on Close would show its tooltip. */
function Popup({ title, description, children, footer, className, bodyClassName }: PopupProps) {
  const popup = useRef<HTMLDivElement>(null);
  const initialFocus = () =>
    popup.current?.querySelector<HTMLElement>("input:not([type=hidden], [type=checkbox]), textarea, select") ??
    popup.current;
  return (
    <Base.Popup
      ref={popup}
      initialFocus={initialFocus}
      className={classNames("border-line bg-raised shadow-raised flex w-full flex-col outline-none", className)}
    >
      <header className="border-line flex items-center justify-between gap-4 border-b px-5 py-3">
        <div className="min-w-0">
          <Base.Title className="text-lg font-semibold">{title}</Base.Title>
          {description !== undefined && (
            <Base.Description className="text-muted text-sm">{description}</Base.Description>
          )}
        </div>
        <Base.Close render={<IconButton icon="close" label="Close" size="small" className="-mr-1.5 self-start" />} />
      </header>
      {/* A form without fields has no body. */}
      <div
        className={classNames(
          "px-5 py-4 has-[form:empty]:hidden has-[form:empty]:[&+footer]:border-t-0",
          bodyClassName,
        )}
      >
        {children}
      </div>
      {footer !== undefined && (
        <footer className="border-line bg-sunken flex flex-wrap items-center justify-end gap-2 rounded-b-xl border-t px-5 py-3">
          {footer}
        </footer>
      )}
    </Base.Popup>
  );
}

const backdrop = <Base.Backdrop className="fades bg-veil fixed inset-0 z-40" />;

/**
 * A modal dialog. A `sticky` one stays open on a click outside: for secrets and long forms. A `full` one has the page's
 * width.
 */
export function Dialog(props: PanelProps & { wide?: boolean; full?: boolean; sticky?: boolean }) {
  const { open, onClose, wide = false, full = false, sticky = false, ...content } = props;
  return (
    <Base.Root open={open} onOpenChange={(next) => !next && onClose()} disablePointerDismissal={sticky}>
      <Base.Portal>
        {backdrop}
        <Base.Viewport className="fixed inset-0 z-40 grid place-items-center overflow-y-auto p-3 sm:p-6">
          <Popup
            {...content}
            className={classNames("rises rounded-xl border", full ? "max-w-none" : wide ? "max-w-3xl" : "max-w-lg")}
            bodyClassName="min-w-0"
          />
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}

interface FormDialogProps<Answer>
  extends
    Pick<ComponentProps<typeof Dialog>, "title" | "description" | "sticky" | "onClose">,
    Pick<ComponentProps<typeof Button>, "look" | "icon" | "disabled"> {
  /** The request that the form sends on submit. */
  send: () => Promise<Answer>;
  onSent?: (answer: Answer) => unknown;
  /** The dialog that replaces this one after the request, such as one with a new secret. */
  result?: (answer: NoInfer<Answer>) => ReactNode;
  /** The paths that the request changes. */
  refetches?: readonly PathOf<"GET">[];
  /** Shown after the request; the dialog then closes. */
  done?: string;
  /** The button's text. */
  submit: ReactNode;
  /** Text on the button that closes the dialog. */
  dismiss?: string;
  className?: string;
  /** The fields; none for a confirmation. */
  children?: ReactNode;
}

/** Asks for fields or a confirmation, with a button to cancel and one that submits. `sticky` as in `Dialog`. */
export function FormDialog<Answer>(props: FormDialogProps<Answer>) {
  const id = useId();
  const { send, onSent, result, refetches = [], done, look = "primary", icon, disabled = false, ...rest } = props;
  const { submit, dismiss = "Cancel", className, children, ...dialog } = rest;
  const action = useAction({
    mutationFn: send,
    async onSuccess(answer) {
      void refetch(...refetches);
      await onSent?.(answer);
      if (done === undefined) return;
      showSuccess(done);
      dialog.onClose();
    },
  });
  if (result && action.data !== undefined) return result(action.data);
  return (
    <Dialog
      {...dialog}
      open
      footer={
        <>
          <Button onClick={dialog.onClose}>{dismiss}</Button>
          <Button type="submit" form={id} look={look} icon={icon} busy={action.isPending} disabled={disabled}>
            {submit}
          </Button>
        </>
      }
    >
      <Form
        id={id}
        error={action.error}
        className={className}
        // Enter in a field submits a form even if its button is disabled.
        onSubmit={() => !disabled && action.mutate()}
      >
        {children}
      </Form>
    </Dialog>
  );
}

/** A side panel with the selected item's details; covers the page on narrow screens. */
export const Drawer = ({ open, onClose, wide = false, ...content }: PanelProps & { wide?: boolean }) => (
  <Base.Root open={open} onOpenChange={(next) => !next && onClose()}>
    <Base.Portal>
      {backdrop}
      <Popup
        {...content}
        className={`slides-right fixed inset-y-0 right-0 z-40 border-l ${wide ? "sm:max-w-2xl" : "sm:max-w-md"}`}
        bodyClassName="grid min-h-0 flex-1 content-start gap-5 overflow-y-auto *:min-w-0"
      />
    </Base.Portal>
  </Base.Root>
);
