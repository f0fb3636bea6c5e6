import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { instances, NOT_INSTANTIATED } from './public-instances.js'
import { type Specimen, specimens, spoil, WITHOUT_STATE } from './returned-values.js'

// Nothing that a class returns lets a caller change its inside.

describe.each(Object.entries(specimens))('%s', (name, specimen) => {
  test('has a call of each of its members here', () => {
    const missing = membersOf(name).filter((member) => specimen.calls[member] === undefined)
    expect(missing).toEqual([])
  })

  test.each(Object.keys(specimen.calls))('stays as it is when the result of %s is changed', (member) => {
    const [spoilt, other] = [specimen.make(), specimen.make()]
    spoil(answer(specimen, member, spoilt))
    answer(specimen, member, other)
    expect(everything(specimen, spoilt)).toEqual(everything(specimen, other))
  })
})

test('every exported class is here, or there is a reason why it is not', () => {
  const known = [...Object.keys(specimens), ...Object.keys(WITHOUT_STATE)]
  expect(known.sort()).toEqual([...Object.keys(instances), ...Object.keys(NOT_INSTANTIATED)].sort())
})

function answer({ calls }: Specimen, member: string, instance: object): unknown {
  return (calls[member] as (it: object) => unknown)(instance)
}

/** Members that change the instance are called last. */
const WRITES =
  /^(set|take|release|allocate|occupy|undo|resize|delete|expire|observe|forget|keep$|reserve|apply|complete|clear)/

/** What all members answer, one after the other. */
function everything(specimen: Specimen, instance: object): readonly string[] {
  const members = Object.keys(specimen.calls)
  const [writes, reads] = [true, false].map((isWrite) => members.filter((member) => WRITES.test(member) === isWrite))
  return [...reads!, ...writes!].map((member) => `${member}: ${shown(() => answer(specimen, member, instance))}`)
}

function shown(make: () => unknown): string {
  try {
    return inspect(make(), { depth: 20, maxArrayLength: null })
  } catch (error) {
    return String(error)
  }
}

/** The public members of a class. Those of another class that only TypeScript hides are left out. */
function membersOf(name: string): readonly string[] {
  const members: string[] = []
  for (let type: object = instances[name]!(); type !== Object.prototype; type = Object.getPrototypeOf(type)) {
    members.push(...Object.getOwnPropertyNames(type))
  }
  return [...new Set(members)].filter((member) => member !== 'constructor' && !HIDDEN[name]?.includes(member))
}

/** Members that are \`protected\`. */
const HIDDEN: Readonly<Record<string, readonly string[]>> = {
  AddressPool: ['stored', 'restore'],
  PoolLedger: ['ledger', 'objects', 'pool', 'avoid', 'again'],
}
