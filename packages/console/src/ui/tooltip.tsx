import { Tooltip as Base } from "@base-ui/react/tooltip";
import type { ReactElement, ReactNode } from "react";

/** A short explanation on hover and focus. What a person must know stands on the page instead. */
export function Tooltip({ content, children }: { content: ReactNode; children: ReactElement }) {
  return (
    <Base.Root>
      <Base.Trigger render={children} />
      <Base.Portal>
        <Base.Positioner sideOffset={6} className="z-50">
          <Base.Popup className="rises border-line bg-raised text-text shadow-raised max-w-72 rounded-md border px-2 py-1 text-xs">
            {content}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
