import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** What stays in memory, on the heap and beside it, for each part of a value. */
export interface Memory {
  readonly what: string
  readonly bytes: number
}

/** Measures in a process of its own: what else has run in this one shows in its heap. */
export function measureMemory(): Memory[] {
  const program = fileURLToPath(new URL('./memory-program.ts', import.meta.url))
  const { status, stdout } = spawnSync(process.execPath, [...process.execArgv, '--expose-gc', program], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) throw new Error('the program that measures memory failed')
  return JSON.parse(stdout) as Memory[]
}
