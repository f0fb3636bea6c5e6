import * as fc from 'fast-check'
import { defaultRuns } from './depth.js'

// FC_NUM_RUNS=10000 npm test    more runs of every property
// FC_SEED=42 npm test           repeat a failure: the report of a failed property prints its seed and path
const runs = positiveInteger('FC_NUM_RUNS') ?? defaultRuns
const seed = positiveInteger('FC_SEED')

fc.configureGlobal({ ...fc.readConfigureGlobal(), numRuns: runs, ...(seed === undefined ? {} : { seed }) })

function positiveInteger(name: string): number | undefined {
  const text = process.env[name]
  if (text === undefined || text === '') return undefined
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`${name} must be a positive integer, got ${text}`)
  return value
}
