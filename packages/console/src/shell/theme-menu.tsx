import { useSignal } from "../state/signal.ts";
import { theme } from "../state/theme.ts";
import { zone } from "../state/zone.ts";
import { IconButton } from "../ui/button.tsx";
import { Menu, MenuChoice, MenuLine, MenuSection } from "../ui/popover.tsx";

export function ThemeMenu() {
  const choice = useSignal(theme);
  const shownZone = useSignal(zone);
  return (
    <Menu
      trigger={<IconButton icon={choice === "dark" ? "moon" : choice === "light" ? "sun" : "screen"} label="Display" />}
    >
      <MenuSection title="Theme">
        <MenuChoice
          value={choice}
          onChange={theme.set}
          options={[
            { value: "system", label: "System", icon: "screen" },
            { value: "light", label: "Light", icon: "sun" },
            { value: "dark", label: "Dark", icon: "moon" },
          ]}
        />
      </MenuSection>
      <MenuLine />
      <MenuSection title="Times">
        <MenuChoice
          value={shownZone}
          onChange={zone.set}
          options={[
            { value: "local", label: "Local" },
            { value: "utc", label: "UTC" },
          ]}
        />
      </MenuSection>
    </Menu>
  );
}
