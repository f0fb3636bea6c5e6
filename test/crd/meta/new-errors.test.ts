import { expect, test } from 'vitest'
import { invalidField } from '../../../src/crd/meta/field-error.js'
import { newErrors } from '../../../src/crd/meta/new-errors.js'

test('an item that moves is written as JSON once, however many errors it has', () => {
  let writes = 0
  const dnsServers = Array.from({ length: 1000 }, (_, i) => `bad-${i}`)
  const entry = () => ({
    toJSON: () => {
      writes++
      return { dnsServers }
    },
  })
  const poolOf = (...pools: readonly object[]) => ({
    apiVersion: 'a/v1',
    kind: 'Pool',
    metadata: { name: 'p' },
    spec: { pools },
  })
  const errorsAt = (index: number) =>
    dnsServers.map((server, i) => invalidField(`spec.pools[${index}].dnsServers[${i}]`, server, 'is not an address'))

  const { added, old } = newErrors(errorsAt(1), errorsAt(0), poolOf({}, entry()), poolOf(entry()))

  expect({ added, old: old.length }).toEqual({ added: [], old: 1000 })
  expect(writes).toBe(2)
})
