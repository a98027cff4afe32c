// What comes beside the core (writing, for one) sees of the client.

export interface Extension {
  /** More members of `hello`. */
  readonly greeting: object;
  /** A document of a type that the core does not know; its JSON text. */
  document(text: string): void;
  /** Another principal's token was accepted, or this one's is revoked: nobody may see or send any of it any more. */
  forget(): void;
  /** After everything that one event caused: connection, views and what they show may be others than before. */
  stepped(): void;
}
