/**
 * By the name that an example imports: what there is of the client for the examples, without a
 * server.
 */
export interface Clients {
  readonly [specifier: string]: () => Promise<{ readonly [name: string]: unknown }>
}
