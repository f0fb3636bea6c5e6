import fc from 'fast-check'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { expect, test } from 'vitest'
import { runs } from '../setup/depth.js'
import { rawOf, table, updated } from './rules-of-kinds.js'

const hostile = {
  string: [
    '',
    'x',
    '10.0.0.300',
    '10.0.0.9-10.0.0.1',
    '10.0.0.1/33',
    'fd00::1%eth0',
    '::ffff:10.0.0.1',
    'a'.repeat(300),
  ],
  number: [-1, 0, 3, 129, 2 ** 31 - 1],
}

/** A value with some of its texts and numbers replaced. */
function spoilt(value: unknown, choices: () => number): unknown {
  if (Array.isArray(value)) return value.map((item) => spoilt(item, choices))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, spoilt(item, choices)]))
  }
  const [choice, type] = [choices(), typeof value]
  if (choice % 3 !== 0 || (type !== 'string' && type !== 'number')) return value
  return hostile[type][Math.floor(choice / 3) % hostile[type].length]
}

test.each(table)('$admit, $model.info.kind: whatever a spec says, labels and finalizers change', (rules) => {
  const one = fc.tuple(fc.constantFrom(rules.right, rules.wrong, rules.worse), fc.array(fc.nat(), { minLength: 1 }))
  fc.assert(
    fc.property(one, ([spec, numbers]) => {
      let at = 0
      const stored = spoilt(spec, () => numbers[at++ % numbers.length]!) as object
      const before = rawOf(rules, stored, { finalizers: ['x/y'] })
      const read = rules.model.safeParse(before)
      if (!read.ok) return
      const after: KubeObject = rawOf(rules, stored, { labels: { a: 'b' } })
      expect(updated(rules, before, after)).toMatchObject({ allowed: true })
    }),
    { numRuns: runs(1) },
  )
})
