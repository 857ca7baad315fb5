import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../../api/api.ts";
import { sessionQuery } from "../../api/queries.ts";
import { Button } from "../../ui/button.tsx";
import { Field, Input } from "../../ui/field.tsx";
import { Fault } from "../../ui/states.tsx";
import { SignInFrame } from "./sign-in-frame.tsx";

const route = getRouteApi("/sign-in");

export function SignInPage() {
  const { back } = route.useSearch();
  const router = useRouter();
  const queries = useQueryClient();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const signIn = useMutation({
    mutationFn: () => api.post("/session", { body: { email, password } }),
    onSuccess: async (session) => {
      queries.setQueryData(sessionQuery().queryKey, session);
      await router.navigate({ to: isInside(back) ? back : "/agents", replace: true });
    },
  });
  return (
    <SignInFrame title="Sign in">
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          signIn.mutate();
        }}
      >
        <Field label="E-mail">
          <Input
            type="email"
            autoComplete="username"
            required
            autoFocus
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
        </Field>
        <Field label="Password">
          <Input
            type="password"
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
        </Field>
        <Fault error={signIn.error} />
        <Button type="submit" look="primary" busy={signIn.isPending}>
          Sign in
        </Button>
      </form>
      <p className="text-muted mt-6 text-sm text-pretty">
        No password yet, or lost it? An owner makes you a new link on the page Members; on the service’s machine{" "}
        <code className="bg-sunken rounded px-1 py-0.5 font-mono text-xs">patchbay members link</code> does the same.
      </p>
    </SignInFrame>
  );
}

/** Anybody may write a URL: where to go on is a page of the console, never another site. */
const isInside = (back: string | undefined): back is string => back !== undefined && /^\/(?![/\\])/.test(back);
