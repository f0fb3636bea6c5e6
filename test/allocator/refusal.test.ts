import { AddressPool, type AllocationRequest, explainRefusal } from 'ipam-kit/allocator'
import { Address, RangeSet } from 'ipam-kit/cidr'
import { expect, test } from 'vitest'

const at = (text: string) => Address.parse(text)
const want = (text: string) => ({ kind: 'address', address: at(text) }) as const
const [a, b] = [{ uid: 'a', key: 'default/a', kind: 'IPAddressClaim' }, { uid: 'b' }]

/** Four addresses: one held by each owner, one in cooldown, one preallocated. */
function pool(): AddressPool {
  const made = new AddressPool({
    ranges: RangeSet.parse(['10.0.0.0/30', '10.0.1.0']),
    gateway: at('10.0.1.0'),
    cooldownSeconds: 60,
    preallocated: [['mac-1', at('10.0.0.3')]],
  })
  for (const [text, owner] of [
    ['10.0.0.0', a],
    ['10.0.0.1', b],
    ['10.0.0.2', b],
  ] as const)
    made.occupy(at(text), owner)
  made.release(at('10.0.0.2'), b, { nowMs: 0 })
  return made
}

test.each<[request: AllocationRequest, words: string | undefined]>([
  [{ owner: a }, undefined],
  [{ owner: { uid: 'c' }, stickyKey: 'mac-1' }, undefined],
  [{ owner: { uid: 'c' } }, 'no suitable address is free; the next cooldown ends at 1970-01-01T00:01:00.000Z'],
  [{ owner: { uid: 'c' }, family: 6 }, 'no suitable address is free'],
  [{ owner: { uid: 'c' }, want: want('10.0.0.0') }, '10.0.0.0 is held by IPAddressClaim default/a'],
  [{ owner: { uid: 'c' }, want: want('10.0.0.1') }, '10.0.0.1 is held by the owner with the uid b'],
  [
    { owner: { uid: 'c' }, want: want('10.0.0.2') },
    '10.0.0.2 was released, and is kept from other owners until 1970-01-01T00:01:00.000Z',
  ],
  [{ owner: { uid: 'c' }, want: want('10.0.0.3') }, 'another key has the preallocated address 10.0.0.3'],
  [
    { owner: { uid: 'c' }, want: want('10.0.0.2'), stickyKey: 'mac-1' },
    'another address is preallocated for the key: 10.0.0.3',
  ],
  [{ owner: { uid: 'c' }, want: want('10.0.0.4') }, '10.0.0.4 is not in the pool'],
  [
    { owner: { uid: 'c' }, want: want('10.0.1.0') },
    '10.0.1.0 is not given out by the pool: excluded, reserved or the gateway',
  ],
  [{ owner: b, want: want('10.0.0.3') }, 'the owner holds another address: 10.0.0.1'],
])('%j', (request, words) => {
  expect(explainRefusal(pool().allocate(request, { nowMs: 1000 }))).toBe(words)
})
