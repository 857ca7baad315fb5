import type { ComponentProps } from "react";
import { Badge } from "./values.tsx";

/** A badge for each of some names. */
export const Badges = ({ of, ...look }: Omit<ComponentProps<typeof Badge>, "children"> & { of: readonly string[] }) =>
  of.map((name) => (
    <Badge key={name} {...look}>
      {name}
    </Badge>
  ));
