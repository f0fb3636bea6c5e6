import { fail } from 'ipam-kit/errors'
import { type ControllerProblem, ProblemLog } from 'ipam-kit/run'
import { expect, test } from 'vitest'
import { VirtualTimers } from './virtual-timers.js'

test('problems of one kind are folded, with a count, ever later', async () => {
  const timers = new VirtualTimers()
  const lines: string[] = []
  const log = new ProblemLog({ timers, log: (line) => lines.push(line) })
  for (let n = 0; n < 2_522; n++) {
    log.add(`IPAddressClaim default/web-${n}: failed: connect ECONNREFUSED 10.0.0.1:6443`, [`default/web-${n}`])
  }
  log.add('IPAddress cannot be watched: User "x" cannot list resource "ipaddresses"')
  log.add('Cluster cannot be watched: User "x" cannot list resource "clusters"')
  expect(lines).toHaveLength(3)
  await timers.pass(10_000)
  expect(lines).toHaveLength(4)
  expect(lines[3]).toMatch(
    /^2521 more of this kind within 10 s, the last: IPAddressClaim default\/web-2521: .*ECONNREFUSED/,
  )
  log.add('IPAddressClaim default/db-1: failed: connect ECONNREFUSED 10.0.0.1:6443', ['default/db-1'])
  await timers.pass(19_000)
  expect(lines).toHaveLength(4)
  await timers.pass(1_000)
  expect(lines).toHaveLength(5)
  await timers.pass(60_000)
  log.add('IPAddressClaim default/db-1: failed: connect ECONNREFUSED 10.0.0.1:6443', ['default/db-1'])
  expect(lines).toHaveLength(6)
})

test('what was counted is told before the end, and no timer is left', () => {
  const timers = new VirtualTimers()
  const lines: string[] = []
  const log = new ProblemLog({ timers, log: (line) => lines.push(line) })
  log.add('lease: away')
  log.add('lease: away')
  log.flush()
  expect(lines).toEqual(['lease: away', '1 more of this kind within 10 s, the last: lease: away'])
  expect(timers.size).toBe(0)
})

test('a problem of a controller is one line, of a kind without its names', () => {
  const timers = new VirtualTimers()
  const lines: string[] = []
  const { report } = new ProblemLog({ timers, log: (line) => lines.push(line) })
  const failure = fail('STORE_IO', { operation: 'patch', problem: 'down' }).failure
  const of = { apiVersion: 'v1', kind: 'Node', plural: 'nodes', namespaced: false, statusSubresource: true }
  const stalled = { kind: 'stalled', planner: 'p', keys: 3, forMs: 61_000, plans: 12 } as const
  const problems: readonly ControllerProblem[] = [
    { kind: 'failed', planner: 'p', key: 'IPAddressClaim lab/web-1', failure },
    { kind: 'failed', planner: 'p', key: 'IPAddressClaim lab/web-2', failure },
    { kind: 'unsettled', planner: 'p', key: 'IPAddressClaim lab/web-2', failure },
    { kind: 'informer', of, failure },
    { kind: 'thrown', planner: 'p', key: 'a', error: 'no error at all' },
    { ...stalled, key: 'IPAddressClaim lab/a', reason: 'waiting' },
    { ...stalled, key: 'IPAddressClaim lab/b', reason: 'unfinished' },
  ]
  for (const problem of problems) report(problem)
  expect(lines).toEqual([
    'IPAddressClaim lab/web-1: failed: patch failed: down',
    'IPAddressClaim lab/web-2: unsettled: patch failed: down',
    'Node cannot be watched: patch failed: down',
    'a: no error at all',
    'IPAddressClaim lab/a: has waited for a plan for 61 s; keys of p in the queue: 3',
    'IPAddressClaim lab/b: no progress for 61 s in 12 plans; keys of p without progress: 3',
  ])
})

test.each(['a-', 'de-ad-', 'a', '-', '_', '0', 'aa aa-'])('a line of very many %j is cut', (part) => {
  const lines: string[] = []
  const log = new ProblemLog({ timers: new VirtualTimers(), log: (line) => lines.push(line) })
  const error = new Error(part.repeat(50_000))
  log.report({ kind: 'thrown', planner: 'p', key: 'IPAddressClaim lab/web-0', error })
  log.add(`${part.repeat(50_000)}z`)
  expect(lines.map((line) => line.length)).toEqual([8_001, 8_001])
})

test('lines that differ in numbers and uids only are of one kind', () => {
  const lines: string[] = []
  const log = new ProblemLog({ timers: new VirtualTimers(), log: (line) => lines.push(line) })
  for (const id of ['7e57d004-2b97-4e7a-b45f-5387367791cd', '00000000-abcd-ffff-0000-123456789012']) {
    for (const port of [1, 65_000]) log.add(`uid ${id} at 10.0.0.${port % 256}:${port}, web-${port}`)
  }
  expect(lines).toHaveLength(1)
})

test.each([
  ['without a prototype', Object.create(null), 'an error without a message'],
  [
    'that throws when it is read',
    {
      get message() {
        throw new Error('read')
      },
    },
    'an error that cannot be read',
  ],
  [
    'whose stack throws',
    Object.defineProperty(new Error('x'), 'stack', {
      get() {
        throw new Error('read')
      },
    }),
    'x',
  ],
  ['that is a symbol', Symbol('x'), 'Symbol(x)'],
  ['that is undefined', undefined, 'an error without a message'],
  [
    'that is a proxy',
    new Proxy(
      {},
      {
        get() {
          throw new Error('read')
        },
        getPrototypeOf() {
          throw new Error('read')
        },
      },
    ),
    'an error that cannot be read',
  ],
])('something thrown %s is a line', (_, error, text) => {
  const lines: string[] = []
  new ProblemLog({ timers: new VirtualTimers(), log: (line) => lines.push(line) }).report({
    ...{ kind: 'thrown', planner: 'p', key: 'a b/c', error },
  })
  expect(lines).toEqual([`a b/c: ${text}`])
})
