import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import { useAction } from "../../api/action.ts";
import { api, resource, setSession } from "../../api/api.ts";
import { CLI } from "../../format/snippets.ts";
import { Button } from "../../ui/button.tsx";
import { PasswordField, TextField, useTexts } from "../../ui/form/field.tsx";
import { Form } from "../../ui/form/form.tsx";
import { pageAfterSignIn, rememberBack } from "./back.ts";
import { SignInFrame } from "./sign-in-frame.tsx";

const route = getRouteApi("/sign-in");

/** Signs a member in by e-mail and password, then opens the page that they asked for. */
export function SignInPage() {
  const { back } = route.useSearch();
  const router = useRouter();
  const [credentials, field] = useTexts({ email: "", password: "" });
  const local = useQuery(resource("/sign-in")).data?.local;
  useEffect(() => rememberBack(back), [back]);
  const signIn = useAction({
    mutationFn: () => api.post("/session", { body: credentials }),
    onSuccess: async (session) => {
      setSession(session);
      rememberBack(undefined);
      await router.navigate({ to: pageAfterSignIn(back), replace: true });
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
        <TextField {...field("email")} label="E-mail" type="email" autoComplete="username" required autoFocus />
        <PasswordField {...field("password")} label="Password" />
      </Form>
      {local === true && (
        <p className="border-line bg-surface mt-6 rounded-lg border p-3 text-sm text-pretty">
          This is a development service. In the terminal of <Code>patchbay dev</Code>, press <Code>o</Code> to open a
          sign-in link, or <Code>l</Code> to print one. Without a terminal, restart it: it prints a link.
        </p>
      )}
      <p className="text-muted mt-6 text-sm text-pretty">
        No password? Ask an owner for a link from the Members page, or run <Code>{CLI} members link</Code> on the server
        in your service folder, with the <Code>--data-dir</Code> or <Code>--database</Code> that it uses.
      </p>
    </SignInFrame>
  );
}

const Code = ({ children }: { children: ReactNode }) => (
  <code className="bg-sunken rounded px-1 py-0.5 font-mono text-xs">{children}</code>
);
