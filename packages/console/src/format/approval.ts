/** Which calls need an approval, and by whom. */
export const approvalText = ({ by, conditional }: { by: readonly string[]; conditional: boolean }): string =>
  `${conditional ? "some calls need " : ""}approval by ${by.join(", ")}`;
