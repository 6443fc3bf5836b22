/** What a person asked for and cannot have; `message` says what is wrong and what to do, and is told without a stack. */
export class Fault extends Error {
  override readonly name = "Fault";
}
