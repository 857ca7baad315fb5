import { useQuery } from "@tanstack/react-query";
import { resource } from "../../api/queries.ts";
import { Icon } from "../../ui/icon.tsx";

/** Why a connected service does not serve, or does with older functions. Nothing while all is as it should be. */
export function WithheldServices({ agentId }: { agentId: string }) {
  const { data } = useQuery(resource("/agents/:agent_id/access/services", { params: { agent_id: agentId } }));
  const notes = data?.services.flatMap((one): string[] => {
    if (!one.serves) return [`Queries do not get the functions of ${one.service}: ${one.reason}.`];
    if (!one.standsIn) return [];
    return [`Deployment ${one.deployment} of ${one.service} serves: no runtime of the newest deployment is connected.`];
  });
  if (!notes || notes.length === 0) return null;
  return (
    <ul role="status" className="bg-warn-soft text-warn mb-4 grid gap-1 rounded-lg px-4 py-2.5 text-sm">
      {notes.map((note) => (
        <li key={note} className="flex gap-2">
          <Icon name="alert" className="mt-0.5 size-4 shrink-0" />
          <span className="min-w-0 break-words">{note}</span>
        </li>
      ))}
    </ul>
  );
}
