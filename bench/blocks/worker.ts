import { once } from 'node:events'
import { createInterface } from 'node:readline'

/**
 * What a process is told: so many allocations, one after the other, for owners with these numbers.
 */
export interface Order {
  readonly pool: string
  readonly first: number
  readonly count: number
}

/** What it took. */
export interface Took {
  /** Of each allocation, in milliseconds. */
  readonly ms: readonly number[]
  readonly requests: number
  readonly conflicts: number
}

/** What one allocation took. */
export interface Cost {
  readonly requests: number
  readonly conflicts: number
}

/** Who an address is for, with the facts that a container runtime gives. Both sides write them. */
export interface Pod {
  readonly name: string
  readonly uid: string
  readonly container: string
}

export const INTERFACE = 'eth0'

/** The nth pod: texts of the lengths that a cluster has. */
export function podOf(number: number): Pod {
  const hex = number.toString(16).padStart(12, '0')
  return {
    name: `namespace-${number % 10}/deployment-7d9c5b6f48-${hex.slice(-5)}`,
    uid: `3e6b5a6e-7d56-4c88-9a52-${hex}`,
    container: hex.repeat(6).slice(0, 64),
  }
}

/** Carries orders out, a line each, until there are no more. */
export async function work(allocate: (pool: string, pod: Pod) => Promise<Cost>): Promise<void> {
  console.log('ready')
  for await (const line of createInterface({ input: process.stdin })) {
    const { pool, first, count } = JSON.parse(line) as Order
    const ms: number[] = []
    let [requests, conflicts] = [0, 0]
    for (let number = first; number < first + count; number++) {
      const start = performance.now()
      const cost = await allocate(pool, podOf(number))
      ms.push(performance.now() - start)
      requests += cost.requests
      conflicts += cost.conflicts
    }
    const took: Took = { ms, requests, conflicts }
    if (!process.stdout.write(`${JSON.stringify(took)}\n`)) await once(process.stdout, 'drain')
  }
  process.exit()
}
