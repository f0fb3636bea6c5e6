/**
 * Whether an error says that another connection holds a lock. better-sqlite3 has names of codes as
 * `code`; node:sqlite has one name for all, and the extended code of SQLite as `errcode`, of which
 * the lowest eight bits are the primary one.
 */
export function isBusy(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { readonly code?: unknown; readonly errcode?: unknown }
  if (typeof errcode === 'number') return (errcode & 0xff) === SQLITE_BUSY
  return typeof code === 'string' && /^SQLITE_BUSY(_|$)/.test(code)
}

const SQLITE_BUSY = 5
