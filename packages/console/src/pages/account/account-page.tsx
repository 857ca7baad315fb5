import { useAction } from "../../api/action.ts";
import { api, setSession, useSession } from "../../api/api.ts";
import { Button } from "../../ui/button.tsx";
import { NewPasswordField, PasswordField, useTexts } from "../../ui/form/field.tsx";
import { Form, NameForm } from "../../ui/form/form.tsx";
import { Card, Facts, PageHeader } from "../../ui/page.tsx";
import { showSuccess } from "../../ui/toast.tsx";
import { Time } from "../../ui/values.tsx";

/** The signed-in member's name, password and session. */
export function AccountPage() {
  const { member, organisation, expiresAt } = useSession();
  return (
    <>
      <PageHeader title="Account" />
      <div className="grid max-w-2xl gap-5">
        <Card title="Profile" stacked>
          <Facts
            items={[
              ["E-mail", member.email ?? "None: you sign in with a link"],
              ["Role", `${member.role} in ${organisation.name}`],
              ["Session ends", <Time at={expiresAt} exact />],
            ]}
          />
          <Name name={member.name} />
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

function Name({ name }: { name: string }) {
  const rename = useAction({
    mutationFn: (next: string) => api.patch("/account", { body: { name: next } }),
    onSuccess: (session) => {
      setSession(session);
      showSuccess("Name changed");
    },
  });
  return <NameForm name={name} hint="Shown to other members and in the audit log" needs="viewer" rename={rename} />;
}

function PasswordForm() {
  const [password, field, setPassword] = useTexts({ current: "", next: "" });
  const change = useAction({
    mutationFn: () => api.patch("/account", { body: { password } }),
    onSuccess: () => {
      setPassword({ current: "", next: "" });
      showSuccess("Password changed");
    },
  });
  return (
    <Form
      className="grid gap-3"
      error={change.error}
      onSubmit={change.mutate}
      submit={
        <Button type="submit" busy={change.isPending} className="justify-self-start">
          Change password
        </Button>
      }
    >
      <PasswordField {...field("current")} label="Current password" />
      <NewPasswordField {...field("next")} label="New password" />
    </Form>
  );
}
