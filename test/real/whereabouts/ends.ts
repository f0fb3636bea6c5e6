import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Case, Rule } from '../differences.js'
import { callsIn, poolsIn } from './calls-in.js'

const ENDS = fileURLToPath(new URL('ends.json', import.meta.url))

/** By script and case: what each call answers, and the rows and reservations that are left. */
type Ends = { readonly [script: string]: { readonly [id: string]: readonly string[] } }

/**
 * The rule, as far as the case ends here as `ends.json` says. A rule tells why something differs,
 * and the end says what is right instead: another answer is no difference that is meant.
 */
export function withEnd(script: string, { heading, holds }: Rule): Rule {
  const ends = (JSON.parse(readFileSync(ENDS, 'utf8')) as Ends)[script]
  if (ends === undefined) throw new Error(`${ENDS}: no ends of ${script}`)
  return {
    heading,
    holds: (difference) => {
      const { id, own, recorded } = difference
      return isSame(endOf(own, recorded), ends[id]) && holds(difference)
    },
  }
}

/** Rows by their keys. */
type Rows = Readonly<Record<string, Readonly<Record<string, string>>>>

function isSame(left: readonly string[], right: readonly string[] | undefined): boolean {
  return JSON.stringify(left) === JSON.stringify(right)
}

/**
 * The answers of a case, and its rows and reservations at the end. Where containers race, they have
 * one name.
 */
export function endOf(one: Case, recorded: Case): readonly string[] {
  const calls = new Map(callsIn(one).map((call) => [call.step, call]))
  const answers = [...calls.values()].map(({ step, exit, stdout, addresses }) => {
    const codes = [...stdout.matchAll(/"code": *(\d+)/g)].map(([, code]) => `code ${code}`)
    return [`step ${step}: exit ${exit}`, ...addresses, ...codes].join(' ')
  })
  const rows = poolsIn(one.final).map(({ name, pool }) => {
    const all = Object.entries((pool.spec.allocations ?? {}) as Rows).map(
      ([key, { id, podref, ifname }]) => `${key} ${id} ${podref} ${ifname ?? ''}`,
    )
    return `${name} ${pool.spec.range}: ${all.join(', ')}`
  })
  const reservations = Object.entries(one.final).flatMap(([key, object]) => {
    const { podref, ifname, containerid } = (object as { readonly spec?: Readonly<Record<string, string>> }).spec ?? {}
    return key.startsWith('OverlappingRangeIPReservation/')
      ? [`${key.slice(30)}: ${[podref, ifname, containerid].filter(Boolean).join(' ')}`]
      : []
  })
  const lines = [...answers, ...rows.sort(), ...reservations.sort()].map((line) => line.trimEnd())
  return recorded.nondeterministic === undefined ? lines : lines.map((line) => line.replaceAll(/ c\d+\b/g, ' c*'))
}
