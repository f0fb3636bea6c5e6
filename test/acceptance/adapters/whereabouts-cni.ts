import { Address, Prefix } from 'ipam-kit/cidr'
import { IPPool, OverlappingRangeIPReservation, poolName, readRows, rowKey } from 'ipam-kit/crd/whereabouts'
import { fail, unwrap } from 'ipam-kit/errors'
import { type AddOutcome, add, type DelOutcome, del, readWhereaboutsConfig } from 'ipam-kit/provider/whereabouts'
import { runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, refusedWith, unsupported } from '../answer.js'
import { inAskedOrder } from '../asked-order.js'
import { readInput } from '../read-input.js'

const byAddress = z.record(z.string(), z.string())
const row = z.strictObject({ podRef: z.string(), ifName: z.string().optional() })

/** Each form says what the store has, and which commands run. */
const inputSchema = z.union([
  z.strictObject({
    ipam: z.record(z.string(), z.unknown()),
    poolAllocations: z.record(z.string(), row).default({}),
  }),
  z.strictObject({
    enableOverlappingRanges: z.boolean(),
    adds: z.array(z.strictObject({ range: z.string(), pod: z.string() })),
  }),
  z.strictObject({ reservation: byAddress, request: z.strictObject({ podRef: z.string(), range: z.string() }) }),
  z.strictObject({
    op: z.literal(['ADD', 'DEL']),
    ranges: z.array(z.string()).default(['10.0.0.0/24']),
    held: byAddress.default({}),
    reservation: byAddress.default({}),
    poolUpdate: z.literal('error').optional(),
    enableOverlappingRanges: z.boolean().default(true),
  }),
])

const NAMESPACE = 'kube-system'
/** The Pod of the requests that do not name one. */
const SELF = 'ns/p'
const IFNAME = 'eth0'

/** The commands of the plugin on a store. Upstream gives a Pod its old address. */
export async function whereaboutsCni({ input, expect }: GivenCase): Promise<Answer> {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const given = known.data
  const world = new World()
  if ('ipam' in given) return ofConfiguration(world, given, expect)
  if ('adds' in given) {
    const ips: string[] = []
    for (const { range, pod } of given.adds) {
      const ipam = { range, enable_overlapping_ranges: given.enableOverlappingRanges }
      ips.push(...addressesOf(await world.add(ipam, `ns/${pod}`)))
    }
    return answerKeys(expect, { ips: () => ips })
  }
  await world.reserve(given.reservation)
  if ('request' in given) {
    const before = await world.reservationVersions()
    const outcome = await world.add({ range: given.request.range }, given.request.podRef)
    const [stored, after] = [await world.stored(), await world.reservationVersions()]
    return answerKeys(expect, {
      ip: () => addressesOf(outcome)[0]?.split('/')[0] ?? null,
      reservationWritten: () => before !== after,
      storedInPool: () => stored,
    })
  }
  const ipam = {
    ipRanges: given.ranges.map((range) => ({ range })),
    enable_overlapping_ranges: given.enableOverlappingRanges,
  }
  for (const [range, address] of Object.entries(given.held)) {
    const prefix = Prefix.parse(range)
    await world.pool(range, { [unwrap(rowKey(prefix, Address.parse(address)))]: rowOf(SELF) })
  }
  world.failsPools = given.poolUpdate === 'error'
  if (given.op === 'DEL') {
    const outcome = await world.del(ipam, SELF)
    const released = outcome.kind === 'released' ? outcome.addresses.map(Address.format) : []
    return answerKeys(expect, { released: (asked) => inAskedOrder(asked, released) })
  }
  const outcome = await world.add(ipam, SELF)
  if (outcome.kind !== 'allocated') return refusedWith(expect, outcome.message)
  const reserved = await world.reserved()
  return answerKeys(expect, { reservationsAfter: (asked) => inAskedOrder(asked, reserved), error: () => false })
}

/**
 * One ADD; or, where a sequence is asked for, one Pod after the other: each is added, deleted and
 * added again, and has to get the same answer.
 */
async function ofConfiguration(
  world: World,
  given: Extract<z.output<typeof inputSchema>, { ipam: object }>,
  expect: unknown,
): Promise<Answer> {
  const { ipam, poolAllocations } = given
  const rows = Object.entries(poolAllocations).map(([key, { podRef, ifName }]) => {
    return [key, rowOf(podRef === 'self' ? SELF : podRef, ifName)] as const
  })
  if (rows.length > 0) await world.pool(String(ipam.range), Object.fromEntries(rows))
  const asked = (expect as { readonly sequence?: readonly unknown[] }).sequence
  if (!Array.isArray(asked)) {
    const outcome = await world.add(ipam, SELF)
    if (outcome.kind !== 'allocated') return refusedWith(expect, outcome.message)
    const gateways = outcome.addresses.map(({ gateway }) => (gateway === undefined ? null : Address.format(gateway)))
    return answerKeys(expect, { ips: () => addressesOf(outcome), gateways: () => gateways, error: () => false })
  }
  const sequence: unknown[] = []
  for (const [index, wanted] of asked.entries()) {
    const pod = `ns/p${index}`
    const first = textOf(await world.add(ipam, pod))
    await world.del(ipam, pod)
    const second = textOf(await world.add(ipam, pod))
    const answer = first === second ? first : `${first}, then ${second}`
    sequence.push(isAsked(String(wanted), answer) ? wanted : answer)
  }
  return answerKeys(expect, { sequence: () => sequence })
}

/** A refusal is asked for by its beginning, and an address in any spelling. */
function isAsked(wanted: string, answer: string): boolean {
  if (wanted.startsWith('error: ')) return answer.startsWith(wanted)
  const [left, right] = [wanted, answer].map((text) => Prefix.safeParse(text))
  return left?.ok === true && right?.ok === true && Prefix.equals(left.value, right.value)
}

function textOf(outcome: AddOutcome): string {
  return outcome.kind === 'allocated' ? addressesOf(outcome).join(' ') : `error: ${outcome.message}`
}

function addressesOf(outcome: AddOutcome): readonly string[] {
  return outcome.kind === 'allocated' ? outcome.addresses.map(({ prefix }) => Prefix.format(prefix)) : [outcome.kind]
}

function rowOf(podref: string, ifname?: string): object {
  return { id: containerOf(podref), podref, ifname: ifname ?? IFNAME }
}

function containerOf(podref: string): string {
  return `container-of-${podref.replace('/', '.')}`
}

class World {
  readonly #memory = memoryStore({ now: () => 0, kinds: [IPPool.info, OverlappingRangeIPReservation.info] })
  readonly #store: Store
  failsPools = false

  constructor() {
    const failure = fail('STORE_IO', { operation: 'write', problem: 'the pool cannot be written' }).failure
    this.#store = storeOver(this.#memory, {
      create: async (object) =>
        this.failsPools && object.kind === 'IPPool' ? { ok: false, failure } : this.#memory.create(object),
      patch: async (ref, patch, options) =>
        this.failsPools && ref.kind === 'IPPool' ? { ok: false, failure } : this.#memory.patch(ref, patch, options),
    })
  }

  async add(ipam: object, podref: string): Promise<AddOutcome> {
    return this.#run<AddOutcome>(add(this.#request(ipam, podref), { sticky: 'pod' }))
  }

  async del(ipam: object, podref: string): Promise<DelOutcome> {
    return this.#run<DelOutcome>(del(this.#request(ipam, podref)))
  }

  async pool(range: string, allocations: object): Promise<void> {
    const text = Prefix.format(Prefix.masked(Prefix.parse(range)))
    const metadata = { namespace: NAMESPACE, name: unwrap(poolName({ range: text })) }
    const { apiVersion, kind } = IPPool.info
    unwrap(await this.#memory.create({ apiVersion, kind, metadata, spec: { range: text, allocations } }))
  }

  async reserve(reservations: { readonly [address: string]: string }): Promise<void> {
    const { apiVersion, kind } = OverlappingRangeIPReservation.info
    for (const [address, podref] of Object.entries(reservations)) {
      const metadata = { namespace: NAMESPACE, name: address.replaceAll(':', '-') }
      unwrap(await this.#memory.create({ apiVersion, kind, metadata, spec: { podref } }))
    }
  }

  /** The addresses with a row. */
  async stored(): Promise<readonly string[]> {
    const pools = unwrap(await this.#memory.list(IPPool.info)).items
    return pools.flatMap((pool) => readRows(IPPool.parse(pool)).rows.map(({ address }) => Address.format(address)))
  }

  async reserved(): Promise<readonly string[]> {
    const objects = unwrap(await this.#memory.list(OverlappingRangeIPReservation.info)).items
    return objects.map(({ metadata: { name } }) => name.replaceAll('-', ':'))
  }

  /** Changes with each write of a reservation. */
  async reservationVersions(): Promise<string> {
    const objects = unwrap(await this.#memory.list(OverlappingRangeIPReservation.info)).items
    return objects.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).join()
  }

  #request(ipam: object, podref: string) {
    const network = { type: 'whereabouts', kubernetes: { kubeconfig: '/kubeconfig' }, ...ipam }
    const config = unwrap(
      readWhereaboutsConfig({ cniVersion: '1.0.0', name: 'net', ipam: network }, { rules: 'upstream' }),
    )
    const [podNamespace = '', podName = ''] = podref.split('/')
    return { config, containerId: containerOf(podref), ifname: IFNAME, podNamespace, podName }
  }

  async #run<O extends AddOutcome | DelOutcome>(task: Parameters<typeof runTask<O>>[0]): Promise<O> {
    return unwrap(await runTask(task, this.#store, { now: () => 0 })).outcome
  }
}
