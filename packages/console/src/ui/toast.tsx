import { Toast as Base } from "@base-ui/react/toast";
import { Icon } from "./icon.tsx";
import { IconButton } from "./button.tsx";

const toasts = Base.createToastManager();

/** Says shortly that something was done. */
export const tellDone = (title: string, description?: string): void => {
  toasts.add({ title, description, type: "ok", timeout: 5_000 });
};

/** Says that something failed; it stays until it is closed. */
export const tellFailed = (title: string, error: unknown): void => {
  const description = error instanceof Error ? error.message : undefined;
  toasts.add({ title, description, type: "bad", priority: "high", timeout: 0 });
};

export function Toasts() {
  return (
    <Base.Provider toastManager={toasts} limit={3}>
      <Base.Portal>
        <Base.Viewport className="fixed inset-x-3 bottom-3 z-50 flex flex-col gap-2 sm:left-auto sm:w-96">
          <List />
        </Base.Viewport>
      </Base.Portal>
    </Base.Provider>
  );
}

function List() {
  const { toasts } = Base.useToastManager();
  return toasts.map((toast) => (
    <Base.Root
      key={toast.id}
      toast={toast}
      className="rises border-line bg-raised shadow-raised rounded-lg border data-limited:hidden"
    >
      <Base.Content className="flex items-start gap-2.5 py-2.5 pr-2 pl-3">
        <Icon
          name={toast.type === "bad" ? "alert" : "succeeded"}
          className={`mt-0.5 size-4 ${toast.type === "bad" ? "text-bad" : "text-ok"}`}
        />
        <div className="min-w-0 flex-1">
          <Base.Title className="text-sm font-medium" />
          <Base.Description className="text-muted text-sm" />
        </div>
        <Base.Close render={<IconButton icon="close" label="Close" size="small" />} />
      </Base.Content>
    </Base.Root>
  ));
}
