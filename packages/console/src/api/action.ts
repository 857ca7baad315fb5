// oxlint-disable-next-line no-restricted-imports -- the one place that uses it
import { useMutation, type UseMutationOptions, type UseMutationResult } from "@tanstack/react-query";
import { useRef } from "react";
import { isRepeatedGesture } from "../state/gestures.ts";

type Action<Answer, Given> = Pick<
  UseMutationResult<Answer, Error, Given>,
  "data" | "error" | "isPending" | "isSuccess" | "reset"
> & {
  /** Begins the action, unless it is in progress or a double click or a held key repeats its gesture. */
  mutate: (given: Given) => void;
};

/**
 * A member's change: a mutation in progress at most once. `isPending` disables the button only with the next render,
 * after a double click's second click; and a fast answer ends the mutation before that click, which then meets the same
 * button, or the one that took its place.
 */
export function useAction<Answer = unknown, Given = void, Before = unknown>({
  onSettled,
  ...options
}: UseMutationOptions<Answer, Error, Given, Before>): Action<Answer, Given> {
  const inProgress = useRef(false);
  const { data, error, isPending, isSuccess, reset, mutate } = useMutation({
    ...options,
    async onSettled(...settled) {
      try {
        await onSettled?.(...settled);
      } finally {
        inProgress.current = false;
      }
    },
  });
  return {
    data,
    error,
    isPending,
    isSuccess,
    reset,
    mutate(given) {
      if (inProgress.current || isRepeatedGesture()) return;
      inProgress.current = true;
      mutate(given);
    },
  };
}
