import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { sessionQuery } from "../../api/queries.ts";
import { useSession } from "../../state/session.ts";
import { tellDone } from "../../state/toasts.ts";
import { Button } from "../../ui/button.tsx";
import { Card, Facts } from "../../ui/card.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Time } from "../../ui/figures.tsx";
import { PageHeader } from "../../ui/page-header.tsx";
import { PasswordField } from "../../ui/password-field.tsx";
import { Fault } from "../../ui/states.tsx";

/** One's own name, password and session. */
export function AccountPage() {
  const { member, organisation, expiresAt } = useSession();
  return (
    <>
      <PageHeader title="Account" />
      <div className="grid max-w-2xl gap-5">
        <Card title="You">
          <div className="grid gap-5">
            <Facts
              items={[
                ["E-mail", member.email ?? "none: you sign in by link"],
                ["Role", `${member.role} of ${organisation.name}`],
                ["Session ends", <Time key="ends" at={expiresAt} exact />],
              ]}
            />
            <NameForm name={member.name} />
          </div>
        </Card>
        {member.hasPassword && (
          <Card title="Password">
            <PasswordForm />
          </Card>
        )}
      </div>
    </>
  );
}

function NameForm({ name: present }: { name: string }) {
  const queries = useQueryClient();
  const [name, setName] = useState(present);
  const rename = useMutation({
    mutationFn: () => api.patch("/account", { body: { name } }),
    onSuccess: (session) => {
      queries.setQueryData(sessionQuery().queryKey, session);
      tellDone("Your name is changed");
    },
  });
  return (
    <form
      className="grid gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        rename.mutate();
      }}
    >
      <Field label="Name" hint="Shown to other members and in the audit log.">
        <Input required maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />
      </Field>
      <Fault error={rename.error} />
      <Button
        type="submit"
        busy={rename.isPending}
        disabled={name.trim() === "" || name === present}
        className="justify-self-start"
      >
        Save name
      </Button>
    </form>
  );
}

function PasswordForm() {
  const [present, setPresent] = useState("");
  const [next, setNext] = useState("");
  const change = useMutation({
    mutationFn: () => api.patch("/account", { body: { password: { present, next } } }),
    onSuccess: () => {
      setPresent("");
      setNext("");
      tellDone("Your password is changed");
    },
  });
  return (
    <form
      className="grid gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        change.mutate();
      }}
    >
      <Field label="Present password">
        <Input
          type="password"
          autoComplete="current-password"
          required
          value={present}
          onChange={(event) => setPresent(event.target.value)}
        />
      </Field>
      <PasswordField label="New password" value={next} onChange={setNext} />
      <Fault error={change.error} />
      <Button type="submit" busy={change.isPending} className="justify-self-start">
        Change password
      </Button>
    </form>
  );
}
