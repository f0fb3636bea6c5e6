// Digests of simulated schedules, by which two commits are compared.
import { createHash } from 'node:crypto'
import type { SimulationResult } from '../src/testing/simulation/simulate.js'

export function digestOf({ seed, schedule, problems }: SimulationResult): string {
  return createHash('sha256')
    .update(JSON.stringify([seed, schedule, problems]))
    .digest('hex')
    .slice(0, 16)
}

/** The sum of numbers of 64 bits, in hexadecimal. */
export function sumOfDigests(digests: readonly string[]): string {
  const sum = digests.reduce((total, each) => total + BigInt(`0x0${each}`), 0n)
  return BigInt.asUintN(64, sum).toString(16).padStart(16, '0')
}
