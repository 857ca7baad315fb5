import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { api, queryClient } from "../api/api.ts";
import { useSession } from "../state/session.ts";
import { tellFailed } from "../state/toasts.ts";
import { Menu, MenuItem, MenuLine } from "../ui/popover.tsx";

export function AccountMenu() {
  const { member, version } = useSession();
  const navigate = useNavigate();
  const signOut = useMutation({
    mutationFn: () => api.delete("/session"),
    onSuccess: async () => {
      await navigate({ to: "/sign-in" });
      queryClient.clear();
    },
    onError: (error) => tellFailed("You are still signed in", error),
  });
  const name = member.name || member.email || "You";
  return (
    <Menu
      trigger={
        <button
          type="button"
          aria-label={`Account of ${name}`}
          className="bg-accent-soft text-accent ml-1 flex size-7 shrink-0 items-center justify-center rounded-full text-xs font-semibold"
        >
          {initials(name)}
        </button>
      }
    >
      <div className="max-w-64 px-2 py-1.5">
        <p className="truncate font-medium">{name}</p>
        <p className="text-muted truncate text-xs">
          {[member.email, member.role].filter((part) => part !== null).join(" · ")}
        </p>
      </div>
      <MenuLine />
      <MenuItem icon="session" link={<Link to="/account" />}>
        Account
      </MenuItem>
      <MenuItem icon="signOut" onSelect={() => signOut.mutate()}>
        Sign out
      </MenuItem>
      <MenuLine />
      <p className="text-faint px-2 py-1 text-xs">Patchbay {version}</p>
    </Menu>
  );
}

const initials = (name: string): string =>
  name
    .split(/[\s@.]+/)
    .slice(0, 2)
    .map((part) => part.charAt(0).toUpperCase())
    .join("");
