import type { Load } from '../open-store.js'

/** Everything outside this program that it touches. */
export interface Io {
  /** Where relative file names begin. */
  readonly folder: string
  readonly stdin: NodeJS.ReadableStream
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Whether `err` is a terminal. */
  readonly isTerminal: boolean
  /** Whether `out` is a terminal that shows colours. Default: no. */
  readonly takesColour?: boolean
  /** Loads the client of a store. Default: from the packages of this project. */
  readonly load?: Load
}
