import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unwrap } from 'ipam-kit/errors'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fileStore } from '../../docs/examples/file-store.js'

/** How many of the next calls fail, by name. */
const failing = vi.hoisted(() => new Map<string, number>())

vi.mock('node:fs', async (load) => {
  const real = await load<typeof import('node:fs')>()
  const failingAsTold =
    (name: 'fsyncSync' | 'ftruncateSync' | 'writeSync') =>
    (file: number, ...rest: unknown[]) => {
      const left = failing.get(name) ?? 0
      const call = real[name] as (file: number, ...rest: unknown[]) => unknown
      if (left <= 0) return call(file, ...rest)
      failing.set(name, left - 1)
      // a part of it is written, and then the disk is full
      if (name === 'writeSync') call(file, rest[0], rest[1], 10, rest[3])
      throw Object.assign(new Error(`EIO: i/o error, ${name}`), { code: 'EIO' })
    }
  const names = ['fsyncSync', 'ftruncateSync', 'writeSync'] as const
  return { ...real, ...Object.fromEntries(names.map((name) => [name, failingAsTold(name)])) }
})

const kind = { apiVersion: 'example.com/v1', kind: 'Box' }
const box = (name: string, spec: object = {}) => ({ ...kind, metadata: { name }, spec })
const long = box('long', { text: 'x'.repeat(500) })

let folder: string
let opened: ReturnType<typeof fileStore>
let uids = 0

const open = () => fileStore(join(folder, 'store'), { now: () => 0, uid: () => `uid-${++uids}` })
const codeOf = (result: { readonly ok: boolean; readonly failure?: { readonly code: string } }) => result.failure?.code

beforeEach(() => {
  folder = fs.mkdtempSync(join(tmpdir(), 'ipam-kit-file-'))
  opened = open()
})

afterEach(() => {
  failing.clear()
  opened.close()
  fs.rmSync(folder, { recursive: true })
})

describe('a file (docs/examples/file-store.ts)', () => {
  it.each(['writeSync', 'fsyncSync'])('has nothing left of a write whose %s failed', async (call) => {
    await opened.store.create(box('before'))
    failing.set(call, 1)
    expect(codeOf(await opened.store.create(long))).toBe('STORE_OUTCOME_UNKNOWN')
    expect(codeOf(await opened.store.get({ ...kind, name: 'long' }))).toBe('STORE_NOT_FOUND')
    const short = unwrap(await opened.store.create(box('short')))
    opened.close()
    opened = open()
    const { items } = unwrap(await opened.store.list(kind))
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['before', 'short'])
    expect(unwrap(await opened.store.get({ ...kind, name: 'short' }))).toEqual(short)
  })

  it.each([
    ['ftruncateSync', 1],
    ['fsyncSync', 2],
  ])('takes no more writes if it cannot be put right either: %s', async (call, times) => {
    await opened.store.create(box('before'))
    failing.set('fsyncSync', 1).set(call, times)
    expect(codeOf(await opened.store.create(long))).toBe('STORE_OUTCOME_UNKNOWN')
    expect(await opened.store.create(box('short'))).toMatchObject({
      failure: { code: 'STORE_IO', context: { problem: expect.stringContaining('open it again') } },
    })
    expect(codeOf(await opened.store.get({ ...kind, name: 'before' }))).toBeUndefined()
    opened.close()
    opened = open()
    expect(codeOf(await opened.store.create(box('short')))).toBeUndefined()
  })
})
