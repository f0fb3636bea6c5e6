import { answerCni, readCniRequest } from 'ipam-kit/cni'
import { unwrap } from 'ipam-kit/errors'
import { add, cniOutcome, del, type InterfaceRequest, type WhereaboutsResult } from 'ipam-kit/provider/whereabouts'
import { runTask } from 'ipam-kit/run'
import { describe, expect, test } from 'vitest'
import { World } from './world.js'

const IPAM = {
  range: '10.0.0.0/30',
  gateway: '10.0.0.1',
  routes: [{ dst: '0.0.0.0/0', gw: '10.0.0.1' }, { dst: '172.16.0.5/12' }],
  dns: { nameservers: ['10.0.0.53'], search: ['lab'] },
}
const now = () => 0

async function answerTo(world: World, command: 'ADD' | 'DEL', rules?: 'upstream', request = world.request(IPAM)) {
  const run = (): Promise<WhereaboutsResult> =>
    command === 'ADD' ? runTask(add(request), world.client, { now }) : runTask(del(request), world.client, { now })
  const result = await run()
  const outcome = cniOutcome(result, { command, config: request.config, rules })
  const { stdout, exitCode } = answerCni(requestOf(command, request), outcome)
  return { exitCode, stdout: stdout === '' ? undefined : JSON.parse(stdout) }
}

function requestOf(command: string, { containerId, ifname }: InterfaceRequest) {
  const env = { CNI_COMMAND: command, CNI_CONTAINERID: containerId, CNI_IFNAME: ifname, CNI_NETNS: '/n', CNI_PATH: '/' }
  return unwrap(readCniRequest({ env, stdin: JSON.stringify({ cniVersion: '1.0.0', name: 'lab', type: 'macvlan' }) }))
}

describe('the answer of CNI', () => {
  test('to an ADD has the address with the length of the range, the routes and the resolver', async () => {
    expect(await answerTo(new World(), 'ADD')).toEqual({
      exitCode: 0,
      stdout: {
        cniVersion: '1.0.0',
        ips: [{ address: '10.0.0.2/30', gateway: '10.0.0.1' }],
        routes: [{ dst: '0.0.0.0/0', gw: '10.0.0.1' }, { dst: '172.16.0.0/12' }],
        dns: { nameservers: ['10.0.0.53'], search: ['lab'] },
      },
    })
  })

  test('to an ADD of a full range is 101, and under the rules of upstream its sentence', async () => {
    const world = new World()
    await world.add(IPAM, { pod: 'other' })
    const message = 'Could not allocate IP in range: ip: 10.0.0.1 / - 10.0.0.2 / range: 10.0.0.0/30 / excludeRanges: []'
    expect(await answerTo(world, 'ADD')).toMatchObject({ exitCode: 1, stdout: { code: 101, msg: message } })
    expect(await answerTo(world, 'ADD', 'upstream')).toMatchObject({
      exitCode: 1,
      stdout: { code: 999, msg: `error at storage engine: ${message}` },
    })
  })

  test('to a DEL of nothing is success', async () => {
    expect(await answerTo(new World(), 'DEL')).toEqual({ exitCode: 0, stdout: undefined })
  })

  test('to a DEL that cannot reach the store is 11, and success for upstream', async () => {
    const world = new World()
    world.refuse = () => true
    expect(await answerTo(world, 'DEL')).toMatchObject({ exitCode: 1, stdout: { code: 11 } })
    expect(await answerTo(world, 'DEL', 'upstream')).toEqual({ exitCode: 0, stdout: undefined })
  })

  test.each<[string, number]>([
    ['exhausted', 101],
    ['poolNotReady', 101],
    ['refused', 7],
    ['taken', 100],
    ['noSlice', 11],
    ['noClaim', 11],
    ['claimInUse', 11],
    ['noPod', 100],
    ['contended', 11],
  ])('to an ADD that is %s is %i', (kind, code) => {
    const { config } = new World().request(IPAM)
    const outcome = { kind, message: 'x' } as Extract<WhereaboutsResult, { kind: 'done' }>['outcome']
    const answer = cniOutcome({ kind: 'done', outcome }, { command: 'ADD', config })
    expect(answer).toEqual({ kind: 'failed', error: { code, msg: 'x' } })
  })

  test.each([
    ['STORE_IO', 11],
    ['STORE_OBJECT_TOO_LARGE', 100],
    ['STORE_INVALID', 100],
  ])('to an ADD whose write is denied with %s is %i', (code, expected) => {
    const { config } = new World().request(IPAM)
    const answer = cniOutcome(
      { kind: 'done', outcome: { kind: 'denied', message: 'x', code } },
      { command: 'ADD', config },
    )
    expect(answer).toMatchObject({ error: { code: expected } })
  })

  test('to CHECK, STATUS and GC', () => {
    const { config } = new World().request(IPAM)
    const kindOf = (command: 'CHECK' | 'STATUS' | 'GC', outcome: object) =>
      cniOutcome({ kind: 'done', outcome } as WhereaboutsResult, { command, config })
    expect(kindOf('CHECK', { kind: 'missing', message: 'x' })).toMatchObject({ error: { code: 100 } })
    expect(kindOf('STATUS', { kind: 'notReady', message: 'x' })).toMatchObject({ error: { code: 50 } })
    expect(kindOf('STATUS', { kind: 'ready', message: 'x' })).toEqual({ kind: 'done' })
    expect(kindOf('GC', { kind: 'off', message: 'x' })).toEqual({ kind: 'done' })
  })
})
