import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, type MockInstance, test, vi } from 'vitest'
import { withLock } from '../real/servers/cache.js'

let folder: string
let file: string
let told: MockInstance<typeof console.log>

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ipam-kit-lock-'))
  file = join(folder, 'lock')
  told = vi.spyOn(console, 'log').mockImplementation(() => {})
})

afterEach(() => {
  told.mockRestore()
  rmSync(folder, { recursive: true })
})

/** What this process writes into its lock. */
async function ownHolder(): Promise<Record<string, unknown>> {
  return withLock(file, 'is asked', async () => JSON.parse(readFileSync(file, 'utf8')))
}

const hold = (holder: object) => writeFileSync(file, JSON.stringify(holder))

test('one task at a time has a lock, and a waiting task is told the holder and its work', async () => {
  const order: string[] = []
  let release = () => {}
  const first = withLock(file, 'builds etcd', async () => {
    order.push('first begins')
    await new Promise<void>((resolve) => {
      release = resolve
    })
    order.push('first ends')
  })
  told.mockImplementation(() => release())
  await withLock(file, 'waits', async () => {
    order.push('second')
  })
  await first
  expect(order).toEqual(['first begins', 'first ends', 'second'])
  expect(told.mock.calls).toEqual([[expect.stringMatching(/waiting for this process, which builds etcd since \d{4}-/)]])
})

test('a holder of another machine or container is named with its place', async () => {
  hold({ place: 'elsewhere pid:[1]', pid: 5, started: '1', work: 'builds etcd', since: 'noon' })
  told.mockImplementation(() => rmSync(file))
  await withLock(file, 'waits', async () => {})
  expect(told).toHaveBeenCalledWith(
    `  waiting for process 5 of elsewhere pid:[1], which builds etcd since noon, which holds ${file}`,
  )
})

test('a lock is taken over at once whose process has ended, also where another one has its id now', async () => {
  const own = await ownHolder()
  for (const dead of [
    { ...own, started: '1' },
    { ...own, pid: 2 ** 30 },
  ]) {
    hold(dead)
    expect(await withLock(file, 'takes over', async () => 'done')).toBe('done')
  }
  expect(told).not.toHaveBeenCalled()
})

test('a lock that was taken over is not removed by the one that had it before', async () => {
  await withLock(file, 'stands still', async () =>
    hold({ place: 'elsewhere', pid: 5, work: 'took over', since: 'now' }),
  )
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ work: 'took over' })
})
