import { PrefixTree } from 'ipam-kit/allocator'
import { Prefix, RangeSet } from 'ipam-kit/cidr'
import { expect, test } from 'vitest'
import { memory } from '../../setup/cost.js'

const treeOf = (...parents: string[]) => new PrefixTree(RangeSet.parse(parents))
const prefix = Prefix.parse
const LAST = 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'
const spaceOf = (tree: PrefixTree) => Array.from(tree.freePrefixes(), Prefix.format)

test('children of one length, side by side, need a few bytes each', async () => {
  const { arrays: bytesBefore } = await memory()
  const tree = new PrefixTree(RangeSet.parse(['10.0.0.0/8']), { childLength: 24 })
  for (const child of Prefix.split(prefix('10.0.0.0/8'), 24)) tree.take(child)
  expect((await memory()).arrays - bytesBefore).toBeLessThan(65_536 * 10)
  expect(tree.countFree(32)).toBe(0n)
})

test('taking and freeing over and over needs no more room', async () => {
  const tree = treeOf('::/0')
  const { arrays: bytesBefore } = await memory()
  for (let i = 0; i < 20_000; i++) {
    const one = { address: { family: 6, w0: i, w1: 0, w2: 0, w3: i } as const, length: 128 }
    tree.take(one)
    tree.release(one)
  }
  // without the nodes that are used again these are half a million, of 32 bytes
  expect((await memory()).arrays - bytesBefore).toBeLessThan(8_000_000)
  expect(tree.countFree(128)).toBe(2n ** 128n)
})

test('what is taken side by side over and over needs no more room', async () => {
  const tree = treeOf('::/0')
  const { arrays: bytesBefore } = await memory()
  for (let i = 0; i < 30_000; i++) {
    // a node after the other has two kids, and then one
    const pair = [0, 0x8000_0000].map((w3) => ({
      address: { family: 6, w0: i, w1: 0, w2: 0, w3 } as const,
      length: 128,
    }))
    for (const one of pair) tree.take(one)
    for (const one of pair) tree.release(one)
  }
  // without the tables that are used again these are thirty thousand, of 128 bytes
  expect((await memory()).arrays - bytesBefore).toBeLessThan(2_000_000)
  expect(spaceOf(tree)).toEqual(['::/0'])
})

test('what is taken and released beside the space needs no more room', async () => {
  const tree = treeOf('::/128', `${LAST}/128`)
  const { arrays: bytesBefore } = await memory()
  for (let i = 1; i < 10_000; i++) {
    const one = { address: { family: 6, w0: i, w1: 0, w2: 0, w3: i } as const, length: 128 }
    tree.occupy(one)
    expect(tree.release(one)).toBe(true)
  }
  // without the nodes that go again these are a quarter of a million, of 32 bytes
  expect((await memory()).arrays - bytesBefore).toBeLessThan(4_000_000)
  expect(spaceOf(tree)).toEqual(['::/128', `${LAST}/128`])
})
