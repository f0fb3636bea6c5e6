import { Address, Prefix } from 'ipam-kit/cidr'
import { chooseAddress, rowsToRelease, rowsToReuse } from 'ipam-kit/provider/whereabouts'
import { describe, expect, test } from 'vitest'

const range = { prefix: Prefix.parse('10.0.0.0/24'), start: Address.parse('10.0.0.100'), exclude: ['10.0.0.8/29'] }
const at = (text: string) => Address.parse(text)
const kindOf = (asked: string, taken: readonly string[] = []) =>
  chooseAddress(range, { asked: at(asked), taken: taken.map(at), keptBack: [at('10.0.0.1')] }).kind

describe('an address that is asked for', () => {
  test('may be before the start', () => expect(kindOf('10.0.0.50')).toBe('chosen'))
  test('is not given twice', () => expect(kindOf('10.0.0.50', ['10.0.0.50'])).toBe('taken'))
  test.each([
    ['an excluded one', '10.0.0.9'],
    ['the gateway', '10.0.0.1'],
    ['the network address', '10.0.0.0'],
    ['the last address', '10.0.0.255'],
    ['one of another range', '10.0.1.5'],
    ['one of the other family', 'fd00::5'],
  ])('is not given if it is %s', (_, asked) => expect(kindOf(asked)).toBe('notGiven'))
})

test('the gateway is kept back', () => {
  const choice = chooseAddress({ prefix: Prefix.parse('10.4.0.0/24'), exclude: [] }, { keptBack: [at('10.4.0.1')] })
  expect(choice).toEqual({ kind: 'chosen', address: at('10.4.0.2') })
})

test('a full range behind an exclude is exhausted in the words of upstream', () => {
  const full = { prefix: Prefix.parse('10.0.0.0/29'), exclude: ['10.0.0.3'] }
  const taken = ['10.0.0.1', '10.0.0.2', '10.0.0.4', '10.0.0.5', '10.0.0.6'].map(at)
  expect(chooseAddress(full, { taken })).toEqual({
    kind: 'exhausted',
    message:
      'Could not allocate IP in range: ip: 10.0.0.1 / - 10.0.0.6 / range: 10.0.0.0/29 / excludeRanges: [10.0.0.3]',
  })
  expect(chooseAddress(full, { taken: taken.slice(0, -1) })).toEqual({ kind: 'chosen', address: at('10.0.0.6') })
})

describe('the rows of an owner', () => {
  const rows = [
    { podref: 'ns/p', id: 'old', ifname: 'net1' },
    { podref: 'ns/p', id: 'new', ifname: 'net1' },
    { podref: 'ns/p', id: 'new', ifname: 'net2' },
    { podref: 'ns/q', id: 'new', ifname: 'net1' },
    { podref: 'ns/p', id: 'new' },
  ]
  const owner = { podref: 'ns/p', id: 'new', ifname: 'net1' }

  test('another container of the Pod gets a new address', () => {
    expect(rowsToReuse(rows, owner, 'container')).toEqual([rows[1]])
  })

  test('unless the address is that of the Pod', () => {
    expect(rowsToReuse(rows, owner, 'pod')).toEqual([rows[1], rows[0]])
  })

  test('are released by container and interface; a row without interface is kept', () => {
    expect(rowsToRelease(rows, owner)).toEqual([rows[1], rows[3]])
  })
})
