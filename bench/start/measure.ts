import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runChild } from '../child.js'
import { SYSTEMS, type System } from './objects.js'
import { writePages } from './pages.js'

/** What the start of a controller takes, until everything is planned. */
export interface Started {
  /** The longest turn of the event loop, in milliseconds of CPU. */
  readonly longestMs: number
  /** The CPU of the process, in milliseconds, and the time. */
  readonly cpuMs: number
  readonly tookMs: number
  /** The number of plans. */
  readonly planned: number
  /** By how much the heap has grown. */
  readonly heapBytes: number
  /** The most memory of the process. */
  readonly rssBytes: number
}

/** Starts a controller in a process of its own, with so many objects that need nothing. */
export function measureStart(system: System, count: number): Started {
  const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-start-'))
  try {
    writePages(folder, SYSTEMS[system](count))
    const planned = system === 'node-ipam' ? count : count / 2
    return runChild('./start/program.ts', { flags: ['--expose-gc'], args: [system, folder, `${planned}`] })
  } finally {
    rmSync(folder, { recursive: true })
  }
}
