import { phaseOf } from 'ipam-kit/claim'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import type { FakeIpam, HostRecord } from '../../external-provider/fake-ipam.js'
import type { Check } from '../checks.js'
import { cell, type Detail, joinSections, limited, lines, section } from '../text.js'

/** The claims, and what the product has, after a step. */
export interface Snapshot {
  readonly title: string
  readonly claims: readonly ClaimView[]
  readonly records: readonly Pick<HostRecord, 'name' | 'address'>[]
  /** The calls that have arrived in the product so far. */
  readonly calls: number
}

export interface ClaimView {
  readonly name: string
  readonly phase: string
  readonly address: string | null
  /** Reason of its condition. */
  readonly reason: string | null
  readonly message: string
}

export async function snapshot(store: Pick<Store, 'list'>, ipam: FakeIpam, title: string): Promise<Snapshot> {
  const addresses = unwrap(await store.list(IPAddress.info)).items.map((object) => IPAddress.parse(object))
  const found = unwrap(await store.list(IPAddressClaim.info)).items.map((object) => IPAddressClaim.parse(object))
  const claims = found.map((claim): ClaimView => {
    const { name } = claim.metadata
    const { reason = null, message = '' } = claim.status?.conditions?.find(({ type }) => type === 'Ready') ?? {}
    const own = addresses.find(({ spec }) => spec.claimRef.name === name)
    return { name, phase: phaseOf(claim), address: own?.spec.address ?? null, reason, message }
  })
  const records = ipam.records.map(({ name, address }) => ({ name, address }))
  return { title, claims, records, calls: ipam.calls.length }
}

/** A step as text for people. */
export function formatStep({ title, claims, records, calls }: Snapshot, { limit, isVerbose }: Detail): string {
  const rows = claims.map(({ name, phase, reason, address }) => [name, phase, reason, address].map(cell))
  const table = rows.length === 0 ? 'There is no claim.' : limited(['CLAIM', 'PHASE', 'REASON', 'ADDRESS'], rows, limit)
  if (!isVerbose) return section(title, table)
  const waiting = claims.filter(({ address }) => address === null).map(({ name, message }) => `${name}: ${message}`)
  const held = records.map(({ name, address }) => `${address} ${name}`)
  return section(
    title,
    joinSections([
      table,
      waiting.length === 0 ? '' : section('Why claims wait', lines(waiting, limit)),
      section('Records of the product', held.length === 0 ? 'none' : lines(held, limit)),
      `Calls to the product so far: ${calls}`,
    ]),
  )
}

/** The same for programs. */
export function documentOf(steps: readonly Snapshot[], checks: readonly Check[]): object {
  return { steps, checks }
}
