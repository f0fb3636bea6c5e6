// Addresses for Services, and a range that is replaced by a larger one.
// docs/guides/service-addresses.md shows this file, and what it prints.
import { Prefix, RangeSet } from 'ipam-kit/cidr'
import { Service } from 'ipam-kit/crd/core'
import type { KindInfo } from 'ipam-kit/crd/meta'
import { IPAddress, ServiceCIDR } from 'ipam-kit/crd/networking'
import { unwrap } from 'ipam-kit/errors'
import { serviceIPs } from 'ipam-kit/provider/service-ip'
import { asciiMap } from 'ipam-kit/render'
import { runUntilQuiet } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'

let nowMs = Date.UTC(2026, 0, 1)
const now = () => nowMs
const store = memoryStore({ now, kinds: [Service.info, IPAddress.info, ServiceCIDR.info] })

// A range, a Service that names its address, and three that do not.
await create(ServiceCIDR.info, { name: 'kubernetes' }, { cidrs: ['10.96.0.0/26'] })
await create(Service.info, { namespace: 'default', name: 'dns' }, { clusterIP: '10.96.0.10' })
for (const name of ['web', 'api', 'db']) await create(Service.info, { namespace: 'default', name }, {})

const planner = serviceIPs({ seed: 7 })
await runUntilQuiet(store, [planner], { now })
for (const { prefix, holder } of planner.entries()) {
  if (holder.object?.kind === 'IPAddress') console.log(Prefix.format(prefix), holder.key)
}
draw('10.96.0.0/26')

// 48 more: when the upper band is full, the rest of them get addresses of the lower one.
for (let nth = 1; nth <= 48; nth++) await create(Service.info, { namespace: 'default', name: `more-${nth}` }, {})
await runUntilQuiet(store, [planner], { now })
draw('10.96.0.0/26')

// The range is full with a few more.
for (let nth = 49; nth <= 60; nth++) await create(Service.info, { namespace: 'default', name: `more-${nth}` }, {})
const full = await runUntilQuiet(store, [planner], { now })
console.log(full.outcomes.get('Service default/more-60')?.message)

// A larger range takes its place: it has all addresses of the first one, which is then not needed.
await create(ServiceCIDR.info, { name: 'larger' }, { cidrs: ['10.96.0.0/25'] })
unwrap(await store.delete({ ...ServiceCIDR.info, name: 'kubernetes' }))
const soon = await runUntilQuiet(store, [planner], { now })
console.log(soon.outcomes.get('ServiceCIDR kubernetes')?.message, soon.requeueAfterSeconds)
nowMs += 10_000
await runUntilQuiet(store, [planner], { now })
console.log(unwrap(await store.list(ServiceCIDR.info)).items.map(({ metadata }) => metadata.name))
draw('10.96.0.0/25')

async function create({ apiVersion, kind }: KindInfo, metadata: { name: string; namespace?: string }, spec: object) {
  unwrap(await store.create({ apiVersion, kind, metadata, spec }))
}

/** The addresses of a range, and what of them is in use. */
function draw(cidr: string): void {
  const inUse = RangeSet.fromPrefixes(planner.entries().map(({ prefix }) => prefix))
  const available = planner.context.holdings.ledger().space
  for (const line of asciiMap({ addresses: RangeSet.parse([cidr]), available, inUse })) console.log(line)
}
