import type { ReactElement } from "react";
import type { RowLinkProps } from "./table-rows.tsx";

/** A `link` for tables whose rows open on the page itself: a button. `isPressed` marks the open row. */
export const rowButton =
  <Row,>(onOpen: (row: Row) => void, isPressed?: (row: Row) => boolean) =>
  (row: Row, { className, ...props }: RowLinkProps): ReactElement => (
    <button
      type="button"
      {...props}
      className={`text-left ${className}`}
      aria-pressed={isPressed?.(row)}
      onClick={() => onOpen(row)}
    />
  );
