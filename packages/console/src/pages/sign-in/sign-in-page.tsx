import { useMutation } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { api, setSession } from "../../api/api.ts";
import { Button } from "../../ui/button.tsx";
import { PasswordField, TextField } from "../../ui/field.tsx";
import { Form } from "../../ui/form.tsx";
import { Logo } from "../../ui/icon.tsx";
import { PageHeader } from "../../ui/page.tsx";

const route = getRouteApi("/sign-in");

/** Signs a member in by e-mail and password, then opens the page that they asked for. */
export function SignInPage() {
  const { back } = route.useSearch();
  const router = useRouter();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const signIn = useMutation({
    mutationFn: () => api.post("/session", { body: { email, password } }),
    onSuccess: async (session) => {
      setSession(session);
      await router.navigate({ to: isInside(back) ? back : "/agents", replace: true });
    },
  });
  return (
    <SignInFrame title="Sign in">
      <Form
        error={signIn.error}
        onSubmit={signIn.mutate}
        submit={
          <Button type="submit" look="primary" busy={signIn.isPending}>
            Sign in
          </Button>
        }
      >
        <TextField
          label="E-mail"
          type="email"
          autoComplete="username"
          required
          autoFocus
          value={email}
          onChange={setEmail}
        />
        <PasswordField label="Password" value={password} onChange={setPassword} />
      </Form>
      <p className="text-muted mt-6 text-sm text-pretty">
        No password? Ask an owner for a link from the Members page, or run{" "}
        <code className="bg-sunken rounded px-1 py-0.5 font-mono text-xs">patchbay members link</code> on the server.
      </p>
    </SignInFrame>
  );
}

/** Accepts only paths of the console: an attacker may have written the URL, and must not send members to another site. */
const isInside = (back: string | undefined): back is string => back !== undefined && /^\/(?![/\\])/.test(back);

interface SignInFrameProps {
  title: string;
  description?: ReactNode;
  children: ReactNode;
}

/** The layout of pages without a session. */
export const SignInFrame = ({ title, description, children }: SignInFrameProps) => (
  <main className="mx-auto flex min-h-dvh w-full max-w-sm flex-col justify-center px-4 py-12">
    <div className="mb-6 flex items-center gap-2.5 font-semibold">
      <Logo />
      Patchbay
    </div>
    <PageHeader title={title} {...(description !== undefined && { description })} />
    {children}
  </main>
);
