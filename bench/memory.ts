import { runChild } from './child.js'

/** What stays in memory, on the heap and beside it, for each part of a value. */
export interface Memory {
  readonly what: string
  readonly bytes: number
}

export function measureMemory(): Memory[] {
  return runChild('./memory-program.ts', { flags: ['--expose-gc'] })
}
