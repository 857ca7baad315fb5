/** A failure with a reason for people, on one line. */
export class CreateFailure extends Error {
  override readonly name = "CreateFailure";
}
