import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KubeObject, Model } from 'ipam-kit/crd/meta'
import { OpenStackFloatingIPPool, OpenStackServer } from 'ipam-kit/crd/openstack'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import type { FakeCloud } from 'ipam-kit/testing'

/** How everything is after a step. */
export interface Snapshot {
  readonly title: string
  readonly machines: readonly MachineView[]
  /** Left out: it is deleted. */
  readonly pool: PoolView | undefined
  readonly cloud: readonly CloudView[]
  /** How many calls of each operation the step has made. */
  readonly calls: readonly (readonly [operation: string, count: number])[]
  /** Claims and IPAddress objects of machines that do not exist. */
  readonly orphans: readonly string[]
}

export interface MachineView {
  readonly name: string
  /** Of its claim. */
  readonly address: string | null
  /** Reason of its condition. */
  readonly state: string | null
  readonly message: string
}

export interface PoolView {
  readonly claimed: readonly string[]
  readonly available: readonly string[]
  readonly failed: readonly string[]
  /** Reason of its condition. */
  readonly state: string | null
  readonly max: number | undefined
}

export interface CloudView {
  readonly address: string
  /** The claim in its marker, or what the marker says; empty: it has none. */
  readonly createdFor: string
  /** The machine whose instance has it. */
  readonly attached: string | null
}

export async function snapshot(
  store: Pick<Store, 'list'>,
  cloud: FakeCloud,
  { title, callsBefore }: { readonly title: string; readonly callsBefore: ReadonlyMap<string, number> },
): Promise<Snapshot> {
  const listed = async <T extends KubeObject>(model: Model<T>) =>
    unwrap(await store.list(model.info)).items.map((object) => model.parse(object))
  const claims = await listed(IPAddressClaim)
  const addresses = await listed(IPAddress)
  const servers = await listed(OpenStackServer)
  const [pool] = await listed(OpenStackFloatingIPPool)
  const machines = servers.map((server): MachineView => {
    const { name, uid } = server.metadata
    const claim = claims.find(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid))
    const address = addresses.find(({ metadata }) => metadata.name === claim?.status?.addressRef?.name)
    const { reason = null, message = '' } = conditionOf(server) ?? {}
    return { name, address: address?.spec.address ?? null, state: reason, message }
  })
  const alive = new Set(servers.map(({ metadata }) => metadata.uid))
  const orphans = claims.filter(({ metadata }) => !metadata.ownerReferences?.some(({ uid }) => alive.has(uid)))
  const names = new Set(claims.map(({ metadata }) => metadata.name))
  const left = addresses.filter(({ spec }) => !names.has(spec.claimRef.name))
  return {
    title,
    machines: machines.sort((a, b) => numberOf(a) - numberOf(b)),
    pool: pool && poolView(pool),
    cloud: cloudView(cloud, claims),
    calls: [...cloud.calls]
      .map(([operation, count]) => [operation, count - (callsBefore.get(operation) ?? 0)] as const)
      .filter(([, count]) => count > 0),
    orphans: [...orphans, ...left].map(({ kind, metadata }) => `${kind} ${metadata.name}`),
  }
}

export function conditionOf({ status }: OpenStackServer) {
  return status?.conditions?.find(({ type }) => type === 'FloatingAddressFromPoolReady')
}

function poolView({ spec, status }: OpenStackFloatingIPPool): PoolView {
  const { claimedIPs = [], availableIPs = [], failedIPs = [], conditions = [] } = status ?? {}
  const ready = conditions.find(({ type }) => type === 'OpenstackFloatingIPPoolReadyCondition')
  const lists = { claimed: claimedIPs, available: availableIPs, failed: failedIPs }
  return { ...lists, state: ready?.reason ?? null, max: spec.maxIPs }
}

function cloudView(cloud: FakeCloud, claims: readonly IPAddressClaim[]): readonly CloudView[] {
  const external = cloud.networks.filter(({ isExternal }) => isExternal).map(({ id }) => id)
  const markers = new Map(cloud.created.map(({ id, marker }) => [id, marker]))
  return cloud.floatingIPs
    .filter(({ network }) => external.includes(network))
    .map(({ id, address, port }) => {
      const [, uid = ''] = (markers.get(id) ?? '').split('/')
      const claim = claims.find(({ metadata }) => metadata.uid === uid)
      const device = cloud.ports.find((each) => each.id === port)?.device ?? null
      return { address, createdFor: createdFor(uid, claim), attached: device }
    })
}

function createdFor(uid: string, claim: IPAddressClaim | undefined): string {
  if (uid === '') return ''
  return claim?.metadata.name ?? 'a claim that is gone'
}

function numberOf({ name }: MachineView): number {
  return Number(name.split('-').at(-1))
}
