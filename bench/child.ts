import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Runs a program of this folder in a process of its own, where nothing else has left its traces, and returns the JSON that it prints. */
export function runChild<T>(program: string, { flags = [], args = [] }: { flags?: string[]; args?: string[] }): T {
  const file = fileURLToPath(new URL(program, import.meta.url))
  const { status, stdout } = spawnSync(process.execPath, [...process.execArgv, ...flags, file, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) throw new Error(`${program} failed`)
  return JSON.parse(stdout) as T
}
