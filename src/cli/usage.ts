/** The line is wrong in itself: exit 2, whatever the workspace looks like. */
export class UsageError extends Error {
  constructor(
    message: string,
    readonly wayOut: string,
  ) {
    super(message);
    this.name = 'UsageError';
  }
}
