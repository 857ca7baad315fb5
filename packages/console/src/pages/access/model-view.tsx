import type { AccessMatrix, ModelView } from "@patchbay/protocol/console";
import { getRouteApi } from "@tanstack/react-router";
import { useFiltered } from "../../api/api.ts";
import { countOf } from "../../format/numbers.ts";
import { useSearchChange } from "../../state/page-search.ts";
import { CopyButton } from "../../ui/copy.tsx";
import { Card, EmptyState, Loaded, Loading } from "../../ui/page.tsx";
import { Select } from "../../ui/form/select.tsx";
import { Estimate, ModelFunctions } from "../../parts/model/model-functions.tsx";
import { roleKey, roleLabel } from "../../parts/access/matrix-model.ts";

const route = getRouteApi("/shell/agents/$agentId/access");

/** The functions that the model receives for one role: names, descriptions and parameters, without hidden ones. */
export function ModelViewOfRole({ matrix }: { matrix: AccessMatrix }) {
  const { agentId } = route.useParams();
  const { as, manifestHash } = route.useSearch();
  const change = useSearchChange(route);
  const { roles, defaultRole } = matrix;
  const chosen = roles.find((role) => roleKey(role) === as);
  const role = chosen !== undefined ? chosen : (defaultRole ?? roles[1] ?? null);
  const query = { manifestHash, role: role ?? undefined };
  const view = useFiltered("/agents/:agent_id/access/model-view", { params: { agentId }, query });
  return (
    <Card
      title={role === null ? "A query without a role" : `Role ${role}`}
      description="The functions that a model request contains; the model knows no others"
      actions={
        <Select
          label="Role"
          named
          className="w-48"
          options={roles.map((option) => ({ value: roleKey(option), label: roleLabel(option) }))}
          value={roleKey(role)}
          onChange={(next) => change({ as: next })}
        />
      }
    >
      <Loaded query={view} loading={<Loading block="h-64" />}>
        {(loaded) => <Functions view={loaded} />}
      </Loaded>
    </Card>
  );
}

function Functions({ view: { functions, deprecated, hidden } }: { view: ModelView }) {
  const request = functions.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  const facts = [
    ...(hidden > 0 ? [`${countOf(hidden, "function")} hidden from the model`] : []),
    ...(deprecated.length > 0 ? [`deprecated, callable but not shown: ${deprecated.join(", ")}`] : []),
  ];
  return (
    <div className="grid gap-3">
      <div className="text-muted flex flex-wrap items-center gap-x-4 gap-y-2 text-sm">
        <span>
          {countOf(functions.length, "function")}{" "}
          <Estimate tokens={functions.reduce((all, { tokens }) => all + tokens, 0)} />
        </span>
        {facts.map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
        {functions.length > 0 && <CopyButton text={() => JSON.stringify(request, null, 2)}>Copy as JSON</CopyButton>}
      </div>
      {functions.length === 0 ? (
        <EmptyState icon="function" title="The role sees no functions">
          Add the role to the role list of a function.
        </EmptyState>
      ) : (
        <ModelFunctions functions={functions} described />
      )}
    </div>
  );
}
