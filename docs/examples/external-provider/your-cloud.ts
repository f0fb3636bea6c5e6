// Your cloud in twenty minutes: a skeleton for a cloud that is not OpenStack. Replace `Api` by the
// client of the cloud, and run `cloudConformance` of ipam-kit/testing on the result.
import { isDeepStrictEqual } from 'node:util'
import { Address } from 'ipam-kit/cidr'
import type { ExternalFailure, ExternalResult } from 'ipam-kit/plan'
import {
  type Cloud,
  type CloudAddress,
  type ExternalPoolKind,
  type ExternalPoolsDefinition,
  externalPools,
  type SeenCloudAddress,
} from 'ipam-kit/provider/external'
import type { ServerCloud } from 'ipam-kit/provider/openstack'
import { FloatingPool } from './pool.js'

/** An address as the API of the cloud shows it. */
export interface AddressRecord {
  /** Of this record alone: no later one has it. */
  readonly id: string
  readonly address: string
  readonly network: string
  /** A label, a tag or a description, which the creating call sets. */
  readonly marker: string
  /** Another one after each change. */
  readonly version: number
  /** The id of the server that uses it; empty: none. */
  readonly server: string
}

/** The calls to the cloud. They throw an {@link ApiError}. */
export interface Api {
  hasNetwork(network: string): Promise<boolean>
  list(network: string): Promise<readonly AddressRecord[]>
  get(id: string): Promise<AddressRecord | undefined>
  create(request: Pick<AddressRecord, 'network' | 'marker'> & { readonly name: string }): Promise<AddressRecord>
  /** Changes or deletes a record of this version. Another version: the error `changed`. */
  update(id: string, version: number, change: Partial<Pick<AddressRecord, 'marker' | 'server'>>): Promise<AddressRecord>
  remove(id: string, version: number): Promise<void>
}

export class ApiError extends Error {
  readonly code: keyof typeof FAILURES

  constructor(code: ApiError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** What each error says of a call. `nothingDone` only if it is certain that nothing was done. */
const FAILURES = {
  down: { retryable: true },
  timeout: { retryable: true },
  changed: { retryable: true, nothingDone: true },
  'in-use': { retryable: true, nothingDone: true },
  'network-full': { reason: 'PoolExhausted', retryable: true, nothingDone: true, retryAfterSeconds: 60 },
  'no-such-network': { reason: 'PoolNotReady', retryable: false, nothingDone: true },
} satisfies { readonly [code: string]: Omit<ExternalFailure, 'message'> }

export async function answered<T>(ask: () => Promise<T>): Promise<ExternalResult<T>> {
  try {
    return { ok: true, value: await ask() }
  } catch (error) {
    const { message } = error as Error
    // another exception may have come after the call had an effect
    return { ok: false, failure: { message, ...(error instanceof ApiError ? FAILURES[error.code] : FAILURES.down) } }
  }
}

/** The cloud, for pools. */
export function yourCloud(api: Api): Cloud {
  return {
    findNetwork: ({ network }) =>
      answered(async () => {
        const id = String(network)
        if (!(await api.hasNetwork(id))) throw new ApiError('no-such-network', `there is no network ${id}`)
        return { id, name: id }
      }),
    // read all pages: an address that a list lacks counts as deleted
    listAddresses: ({ network }) => answered(async () => ({ addresses: (await api.list(network)).map(addressOf) })),
    createAddress: ({ pool: { namespace, name }, network, marker }) =>
      answered(async () => addressOf(await api.create({ network, marker, name: `${namespace}.${name}` }))),
    markAddress: ({ seen, marker }) =>
      answered(async () => {
        const record = await api.get(seen.id)
        if (record === undefined) throw new ApiError('changed', `there is no record ${seen.id}`)
        return addressOf(await api.update(seen.id, versionOf(record, seen), { marker }))
      }),
    deleteAddress: ({ seen }) =>
      answered(async () => {
        const record = await api.get(seen.id)
        if (record !== undefined) {
          const version = versionOf(record, seen)
          if (record.server !== '') throw new ApiError('in-use', `${record.address} is in use`)
          await api.remove(seen.id, version)
        }
        return {}
      }),
  }
}

function addressOf({ id, address, network, marker, version, server }: AddressRecord): CloudAddress {
  return { id, address, network, marker, revision: String(version), isAttached: server !== '' }
}

/** The version of a record that is as the pool has seen it. */
function versionOf({ marker, version, address }: AddressRecord, seen: SeenCloudAddress): number {
  if (marker === seen.marker && (seen.revision === '' || seen.revision === String(version))) return version
  throw new ApiError('changed', `${address} was changed`)
}

/** Optional: the cloud, for `floatingServers`. Here a server has one port, and reaches each network. */
export function yourServers(api: Api, network: string): ServerCloud {
  const attach = async (id: string, version: number, server: string) => {
    await api.update(id, version, { server })
    return {}
  }
  return {
    describeServer: ({ server, address }) =>
      answered(async () => {
        const records = await api.list(network)
        const floating = ({ id, version, ...of }: AddressRecord) => ({ id, ...of, port: of.server, revision: version })
        return {
          addresses: records.filter((it) => it.server === server).map((it) => it.address),
          ports: [{ id: server, fixedIPs: [{ subnet: network, address }] }],
          routers: [{ id: network, gatewayNetwork: network, subnets: [network] }],
          floatingIPs: records.filter((it) => it.address === address).map(floating),
        }
      }),
    attachFloatingIP: ({ id, port, revision }) =>
      answered(async () => attach(id, revision ?? (await api.get(id))?.version ?? 0, port)),
    detachFloatingIP: ({ id, port }) =>
      answered(async () => {
        const record = await api.get(id)
        return record?.server === port ? attach(id, record.version, '') : {}
      }),
  }
}

/** The pools of the cloud, of a kind of your own. */
export const floating = (options: Pick<ExternalPoolsDefinition<FloatingPool>, 'callSeconds'> = {}) =>
  externalPools({ name: 'floating', kind, ...options })

const kind: ExternalPoolKind<FloatingPool> = {
  model: FloatingPool,
  poolFinalizer: 'ipam.example.com/floating-pool',

  policyOf({ spec: { network, prefix, gateway, existing = [], spare: minFree = 0, max, reclaim = 'Delete' } }) {
    const wrong = existing.filter((text) => !Address.safeParse(text).ok)
    // a wrong entry is left out and named in the status
    const problems = wrong.map((text) => `spec.existing: no address: ${text}`)
    const preallocated = existing.filter((text) => !wrong.includes(text)).map((text) => Address.parse(text))
    return { ok: true, policy: { network, prefix, gateway, preallocated, minFree, max, reclaim }, problems }
  },

  statusPatch({ status }, { claimed, available, failed, problems, shortage, isKnown }) {
    const unusable = failed.map(({ address, reason }) => `${address}: ${reason}`)
    const lists = isKnown ? { available: [...available], unusable } : {}
    const problem = [...(shortage ? [shortage.message] : []), ...problems].join('; ')
    const wanted = { ...status, claimed: [...claimed], ...lists, problem }
    return isDeepStrictEqual(status, wanted) ? undefined : { status: wanted }
  },
}
