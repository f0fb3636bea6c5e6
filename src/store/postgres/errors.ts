import { NEVER_CONNECTED } from '../rules/unsent.js'

/**
 * What an error of a client says about the statement that it ended. Servers tell by SQLSTATE
 * (PostgreSQL, appendix A); what clients make up themselves, when a connection ends, has no code or
 * one of the operating system.
 */
export type ErrorClass =
  /** Nothing was written, and the same statement may well succeed if it is tried again at once. */
  | 'again'
  /** Nothing was written. */
  | 'refused'
  /** It may have been written. */
  | 'unknown'

export function classOf(error: unknown): ErrorClass {
  const { code, severity } = (error ?? {}) as { readonly code?: unknown; readonly severity?: unknown }
  if (typeof code !== 'string') return 'unknown'
  if (NEVER_CONNECTED.has(code)) return 'refused'
  // EPIPE and E2BIG have five characters too
  if (!/^(\d[0-9A-Z]|F0|HV|P0|XX)[0-9A-Z]{3}$/.test(code)) return 'unknown'
  if (BEFORE_ANY_STATEMENT.test(code)) return 'refused'
  if (OUTCOME_UNKNOWN.test(code) || severity === 'FATAL' || severity === 'PANIC') return 'unknown'
  return LOST_RACE.has(code) ? 'again' : 'refused'
}

/**
 * The session did not come about: the server is starting or has no room for one more, the user or
 * database is not there. These are fatal, to a session that has not been given a statement yet.
 */
const BEFORE_ANY_STATEMENT = /^(57P03|53300|28...|3D000)$/

/**
 * The session has ended, or something broke in the server: connection (08), admin or crash
 * shutdown, database dropped, idle session (57P), time-outs that end sessions (25P), system errors
 * such as a failing disk (58), internal errors (XX), and what says so itself (40003).
 */
const OUTCOME_UNKNOWN = /^(08...|57P..|25P03|25P04|58...|XX...|40003)$/

/**
 * A text has a character that the encoding of the database lacks, or bytes that are none of its
 * characters. Nothing was written.
 */
export const LACKS_CHARACTERS: ReadonlySet<unknown> = new Set(['22P05', '22021'])

/** Serialization failure and deadlock: the transaction was rolled back because of others. */
const LOST_RACE: ReadonlySet<string> = new Set(['40001', '40P01'])
