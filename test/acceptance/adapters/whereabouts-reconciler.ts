import { Address, Prefix } from 'ipam-kit/cidr'
import { readNetworkStatus } from 'ipam-kit/crd/multinet'
import { poolName, reservationName, rowKey } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, unsupported } from '../answer.js'
import { readInput } from '../read-input.js'
import { SweepWorld, type SweptPod } from '../sweep-world.js'

const rows = z.record(z.string(), z.string())
const entries = z.array(
  z.strictObject({
    name: z.string().optional(),
    interface: z.string().optional(),
    ips: z.array(z.string()).default([]),
    default: z.boolean().default(false),
  }),
)
const pod = z.strictObject({
  ref: z.string(),
  phase: z.string().default('Running'),
  ips: z.array(z.string()).optional(),
  networkStatus: z.union([z.string(), entries]).optional(),
  conditions: z.array(z.record(z.string(), z.unknown())).optional(),
  deletionTimestamp: z.string().optional(),
})
const pool = z.strictObject({ range: z.string(), allocations: rows.optional() })
const inputSchema = z.union([
  z.strictObject({ networkStatus: entries.optional(), networkStatusRaw: z.string().optional() }),
  z.strictObject({
    event: z.literal('podDeleted'),
    nad: z.literal(['present', 'other type', 'missing', 'absent', 'gone', 'deleted']).default('present'),
    samePodNameExists: z.boolean().default(false),
    newPodDeletionTimestamp: z.string().optional(),
  }),
  z.strictObject({ pool: pool.optional(), orphans: z.array(z.string()) }),
  z.strictObject({
    networkName: z.string().default(''),
    pool: pool.optional(),
    allocations: rows.optional(),
    pools: z.array(pool).optional(),
    reservations: rows.optional(),
    pods: z.array(pod).default([]),
  }),
])

/** The sweep of whereabouts: what it frees, and what it reads of a Pod. */
export async function whereaboutsReconciler({ input, expect }: GivenCase): Promise<Answer> {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const { data } = known
  if ('event' in data) return podDeleted(data, expect)
  if ('orphans' in data) return orphansReleased(data, expect)
  if ('pods' in data) return swept(data, expect)
  const status = data.networkStatusRaw ?? (data.networkStatus && JSON.stringify(data.networkStatus))
  return answerKeys(expect, { ips: () => addressesIn(status) })
}

/** The addresses of the networks beside the default one. */
function addressesIn(status: string | undefined): readonly string[] {
  const read = status === undefined ? undefined : readNetworkStatus(status)
  const interfaces = read?.ok === true ? read.value.filter(({ isDefault }) => !isDefault) : []
  return interfaces.flatMap(({ ips }) => ips.map(({ address }) => Address.format(address)))
}

type Swept = Extract<z.output<typeof inputSchema>, { pods: unknown }>

async function swept(data: Swept, expect: unknown): Promise<Answer> {
  const { networkName, reservations = {}, pods } = data
  const world = new SweepWorld()
  const single = data.pool === undefined ? [] : [{ range: data.pool.range, allocations: data.allocations ?? {} }]
  const pools = [...single, ...(data.pools ?? [])].map(({ range, allocations = {} }) => ({
    name: unwrap(poolName({ range, networkName })),
    range,
    allocations,
  }))
  for (const each of pools) await world.pool(each.name, each.range, each.allocations)
  for (const [text, podref] of Object.entries(reservations)) await world.reservation(nameOf(text), podref)
  for (const each of pods) await world.pod(each.ref, podOf(each))
  await world.sweep()
  const left = await Promise.all(pools.map(({ name }) => world.rows(name)))
  const names = await world.reservations()
  const freed = pools.flatMap(({ range, allocations }, index) =>
    Object.keys(allocations)
      .filter((key) => !Object.hasOwn(left[index]!, key))
      .map((key) => Address.format(Address.add(Prefix.parse(range).address, BigInt(key)))),
  )
  return answerKeys(expect, {
    orphans: () => freed,
    left: () => Object.assign({}, ...left),
    reservationsLeft: () => Object.keys(reservations).filter((text) => names.includes(nameOf(text))),
    index: () =>
      Object.fromEntries(pods.map((each) => [each.ref, { ips: addressesIn(podOf(each).status), phase: each.phase }])),
  })
}

/** A case names a reservation by its address, or by its name. */
function nameOf(text: string): string {
  const address = Address.safeParse(text)
  return address.ok ? unwrap(reservationName({ address: address.value })) : text
}

function podOf({ phase, ips, networkStatus, conditions, deletionTimestamp }: z.output<typeof pod>): SweptPod {
  const status = networkStatus ?? (ips === undefined ? undefined : [{ name: 'n', interface: 'net1', ips }])
  return {
    phase,
    status: status === undefined || typeof status === 'string' ? status : JSON.stringify(status),
    conditions,
    isDeleting: deletionTimestamp !== undefined,
  }
}

/** Rows of Pods that do not exist, beside one of a Pod that does. */
async function orphansReleased(
  { pool, orphans }: Extract<z.output<typeof inputSchema>, { orphans: unknown }>,
  expect: unknown,
): Promise<Answer> {
  const range = Prefix.parse(pool?.range ?? '192.168.14.0/24')
  const world = new SweepWorld()
  const keys = orphans.map((text) => unwrap(rowKey(range, Address.parse(text))))
  const dead = Object.fromEntries(keys.map((key) => [key, `default/gone-${key}`]))
  await world.pool('p', Prefix.format(range), { ...pool?.allocations, ...dead })
  await world.sweep()
  const left = await world.rows('p')
  const released = orphans.filter((_, index) => !Object.hasOwn(left, keys[index]!))
  return answerKeys(expect, { released: () => released })
}

/** A Pod that the planner knows is deleted. A network of another type has no pool of whereabouts. */
async function podDeleted(
  data: Extract<z.output<typeof inputSchema>, { event: unknown }>,
  expect: unknown,
): Promise<Answer> {
  const world = new SweepWorld()
  const podref = 'default/pod1'
  const allocations = data.nad === 'other type' ? {} : { '1': podref }
  await world.pool('p', '10.10.10.0/24', allocations as { readonly [key: string]: string })
  await world.pod(podref, podOf({ ref: podref, phase: 'Running', ips: ['10.10.10.1'] }))
  await world.look()
  await world.remove(podref)
  if (data.samePodNameExists) {
    await world.pod(podref, { phase: 'Pending', isDeleting: data.newPodDeletionTimestamp !== undefined })
  }
  await world.look()
  const left = await world.rows('p')
  return answerKeys(expect, {
    released: () => Object.hasOwn(allocations, '1') && !Object.hasOwn(left, '1'),
    event: () => world.events[0] ?? null,
  })
}
