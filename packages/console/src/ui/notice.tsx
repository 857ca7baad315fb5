import type { ReactNode } from "react";
import { Icon, type IconName } from "./icon.tsx";
import { type Tone, TONES } from "./values.tsx";

interface NoticeProps {
  tone: Tone;
  icon?: IconName;
  role?: "alert" | "status";
  children: ReactNode;
}

/** A message with a background of its own. */
export const Notice = ({ tone, icon, role, children }: NoticeProps) => (
  <div role={role} className={`flex items-start gap-2 rounded-md px-3 py-2 text-sm ${TONES[tone]}`}>
    {icon && <Icon name={icon} className="mt-0.5 size-4" />}
    <div className="min-w-0">{children}</div>
  </div>
);
