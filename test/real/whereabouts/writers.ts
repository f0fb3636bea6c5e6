import assert from 'node:assert/strict'
import { type Client, eachOf } from '../controller/client.js'
import type { Depth, Report } from '../report.js'
import type { Attached, Ended, Runtime } from './calls.js'
import type { Gate } from './gate.js'
import { addNetwork, addPod, storedReservations, storedRows } from './ground.js'

interface Size {
  readonly adds: number
  readonly atOnce: number
  /** Of how many ADDs one is killed between its two writes. */
  readonly killEvery: number
}

const SIZES: { readonly [D in Depth]: Size } = {
  full: { adds: 200, atOnce: 200, killEvery: 10 },
  short: { adds: 24, atOnce: 12, killEvery: 8 },
}

export interface Writing {
  readonly admin: Client
  readonly gate: Gate
  readonly runtime: Runtime
}

/** Two networks whose ranges overlap: the reservations alone keep their addresses apart. */
const NETWORKS = { wide: { range: '10.50.0.0/23' }, narrow: { range: '10.50.0.0/24' } } as const

interface Interface extends Attached {
  readonly ipam: object
}

/** A process for each ADD, at once, and some of them die between the row and the reservation. */
export async function writers(report: Report, writing: Writing, depth: Depth): Promise<void> {
  const { admin, gate, runtime } = writing
  const { adds, atOnce, killEvery } = SIZES[depth]
  await addsCost(report, writing)
  const interfaces = await attach(admin, adds)
  const isGiven = await report.test(
    `${adds} ADDs by as many processes, ${adds / killEvery} of them killed`,
    async () => {
      const killed = new Map<string, Interface>()
      const victims = new Set(interfaces.filter((_, nth) => nth % killEvery === 0).map(({ container }) => container))
      gate.before = (call, { method, path }) => {
        if (method !== 'POST' || !path.includes('/overlappingrangeipreservations')) return undefined
        if (!victims.has(runtime.containerOf(call) ?? '')) return undefined
        runtime.kill(call)
        return 'drop'
      }
      const answers = await addAll(runtime, interfaces, atOnce)
      gate.before = () => undefined
      for (const [who, { exit }] of answers) if (exit === null) killed.set(who.container, who)
      const given = addressesOf(answers)
      assert.equal(killed.size, victims.size, 'killed between the two writes')
      const rows = await storedRows(admin)
      const halves = rows.filter(({ id }) => killed.has(id))
      assert.equal(halves.length, killed.size, 'rows of those that were killed')
      await assertGiven(admin, given)
      // a runtime calls ADD again, or DEL
      const [again, ended] = [0, 1].map((rest) => [...killed.values()].filter((_, nth) => nth % 2 === rest))
      const later = await addAll(runtime, again!, atOnce)
      for (const [who, address] of addressesOf(later)) given.set(who, address)
      assert.equal(given.size, adds - ended!.length)
      await deleteAll(runtime, ended!)
      await assertGiven(admin, given)
      assert.equal((await storedRows(admin)).length, given.size)
      const slowest = Math.max(...[...answers.values()].map(({ ms }) => ms))
      return `no address twice, each with its row and its reservation; the slowest took ${(slowest / 1000).toFixed(1)} s`
    },
  )
  if (!isGiven) return
  await report.test('DEL of all of them leaves nothing', async () => {
    await deleteAll(runtime, interfaces)
    assert.deepEqual(await storedRows(admin), [])
    assert.deepEqual([...(await storedReservations(admin))], [])
    return undefined
  })
}

/** What one ADD and one DEL ask the API server for. */
async function addsCost(report: Report, { admin, gate, runtime }: Writing): Promise<void> {
  await report.test('an ADD costs 3 requests', async () => {
    const ipam = await addNetwork(admin, 'counted', { range: '10.49.0.0/24' })
    await addPod(admin, 'counted', 'counted')
    const who = { container: 'counted', ifname: 'net1', pod: 'counted', namespace: 'default' }
    const asked: string[] = []
    for (const command of ['ADD', 'DEL', 'ADD', 'CHECK', 'DEL']) {
      const { call, exit, answer, stderr } = await runtime.call(command, who, ipam)
      assert.equal(exit, 0, `${command}: ${JSON.stringify(answer)} ${stderr}`)
      asked.push(
        gate
          .askedBy(call)
          .map(({ method }) => method)
          .join(' '),
      )
    }
    assert.deepEqual(asked, [
      'GET POST POST',
      'GET GET GET DELETE PATCH',
      'GET PATCH POST',
      'GET GET',
      'GET GET GET DELETE PATCH',
    ])
    return undefined
  })
}

async function attach(admin: Client, count: number): Promise<readonly Interface[]> {
  const ipams = [await addNetwork(admin, 'wide', NETWORKS.wide), await addNetwork(admin, 'narrow', NETWORKS.narrow)]
  const interfaces = Array.from({ length: count }, (_, nth): Interface => {
    return { container: `c${nth}`, ifname: 'net1', pod: `pod-${nth}`, namespace: 'default', ipam: ipams[nth % 2]! }
  })
  await eachOf(interfaces, 8, ({ pod, ipam }) => addPod(admin, pod, ipam === ipams[0] ? 'wide' : 'narrow'))
  return interfaces
}

type Answers = Map<Interface, Ended>

async function addAll(runtime: Runtime, interfaces: readonly Interface[], atOnce: number): Promise<Answers> {
  const answers: Answers = new Map()
  await eachOf(interfaces, atOnce, async (who) => {
    answers.set(who, await called(runtime, 'ADD', who))
  })
  return answers
}

/** The code of an answer after which a runtime calls again. */
const TRY_AGAIN_LATER = 11
const CALLS = 5

/**
 * As a runtime calls, which calls again where it is told to try later: the answer of the last call,
 * with the time of all. 200 processes on two cores can keep an API server from answering in time.
 */
async function called(runtime: Runtime, command: string, who: Interface): Promise<Ended> {
  const start = performance.now()
  let ended = await runtime.call(command, who, who.ipam)
  for (let call = 1; call < CALLS && ended.answer?.code === TRY_AGAIN_LATER; call++) {
    ended = await runtime.call(command, who, who.ipam)
  }
  return { ...ended, ms: performance.now() - start }
}

async function deleteAll(runtime: Runtime, interfaces: readonly Interface[]): Promise<void> {
  await eachOf(interfaces, 16, async (who) => {
    const { exit, answer, stderr } = await called(runtime, 'DEL', who)
    assert.equal(exit, 0, `DEL of ${who.container}: ${JSON.stringify(answer)} ${stderr}`)
    assert.equal(answer, undefined)
  })
}

/** The addresses of the calls that have answered. @throws AssertionError for an error */
function addressesOf(answers: Answers): Map<Interface, string> {
  const given = new Map<Interface, string>()
  for (const [who, { exit, answer, stderr }] of answers) {
    if (exit === null) continue
    assert.equal(exit, 0, `ADD of ${who.container}: ${JSON.stringify(answer)} ${stderr}`)
    const [ip] = answer?.ips ?? []
    assert(ip !== undefined, `ADD of ${who.container} answers no address`)
    given.set(who, ip.address.replace(/\/.*/, ''))
  }
  return given
}

/** No address was answered twice, and each has its row and its reservation. */
async function assertGiven(admin: Client, given: ReadonlyMap<Interface, string>): Promise<void> {
  const addresses = [...given.values()]
  assert.equal(new Set(addresses).size, addresses.length, 'an address is given twice')
  const rows = new Set((await storedRows(admin)).map(({ address, id, podref }) => `${address} ${id} ${podref}`))
  const reservations = await storedReservations(admin)
  for (const [{ container, namespace, pod }, address] of given) {
    const podref = `${namespace}/${pod}`
    assert(rows.has(`${address} ${container} ${podref}`), `${address} of ${podref} has no row`)
    assert.equal(reservations.get(address), podref, `the reservation of ${address}`)
  }
}
