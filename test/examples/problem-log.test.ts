import { expect, test } from 'vitest'
import { ProblemLog } from '../../docs/examples/program/problem-log.js'
import { VirtualTimers } from '../run/controller/virtual-timers.js'

test('problems of one kind are folded, with a count, ever later', async () => {
  const timers = new VirtualTimers()
  const lines: string[] = []
  const log = new ProblemLog(timers, (line) => lines.push(line))
  for (let n = 0; n < 2_522; n++) {
    log.tell(`IPAddressClaim default/web-${n}: failed: connect ECONNREFUSED 10.0.0.1:6443`, [`default/web-${n}`])
  }
  log.tell('IPAddress cannot be watched: User "x" cannot list resource "ipaddresses"')
  log.tell('Cluster cannot be watched: User "x" cannot list resource "clusters"')
  expect(lines).toHaveLength(3)
  await timers.pass(10_000)
  expect(lines).toHaveLength(4)
  expect(lines[3]).toMatch(
    /^2521 more of this kind within 10 s, the last: IPAddressClaim default\/web-2521: .*ECONNREFUSED/,
  )
  log.tell('IPAddressClaim default/db-1: failed: connect ECONNREFUSED 10.0.0.1:6443', ['default/db-1'])
  await timers.pass(19_000)
  expect(lines).toHaveLength(4)
  await timers.pass(1_000)
  expect(lines).toHaveLength(5)
  await timers.pass(60_000)
  log.tell('IPAddressClaim default/db-1: failed: connect ECONNREFUSED 10.0.0.1:6443', ['default/db-1'])
  expect(lines).toHaveLength(6)
})

test('what was counted is told before the end', () => {
  const lines: string[] = []
  const log = new ProblemLog(new VirtualTimers(), (line) => lines.push(line))
  log.tell('lease: away')
  log.tell('lease: away')
  log.flush()
  expect(lines).toEqual(['lease: away', '1 more of this kind within 10 s, the last: lease: away'])
})
