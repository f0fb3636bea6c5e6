/** The clock of a controller, and its timers: those of `ipam-kit/node`, or those of a test. */
export interface Timers {
  /** Milliseconds since 1970. */
  now(): number
  /**
   * Calls back once, after a time from 0 to 86,400,000 ms, unless it was called off before. Not in
   * the same turn of the event loop, also after 0 ms: a controller ends long turns in this way. In
   * Node, `setImmediate` guarantees that and `setTimeout` does not.
   * @returns calls it off
   */
  after(ms: number, action: () => void): () => void
}
