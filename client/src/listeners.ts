// Who wants to hear of something.

export class Listeners<A> {
  private readonly all = new Set<(argument: A) => void>();

  /** Returns the end of it. */
  add(listener: (argument: A) => void): () => void {
    this.all.add(listener);
    return () => this.all.delete(listener);
  }

  /** Application code must not break the fold that it listens to: what it throws surfaces on its own turn. */
  tell(argument: A): void {
    for (const listener of [...this.all]) {
      try {
        listener(argument);
      } catch (error) {
        setTimeout(() => {
          throw error;
        });
      }
    }
  }
}
