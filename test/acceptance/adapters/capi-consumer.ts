import { CLUSTER_NAME_LABEL } from 'ipam-kit/crd/cluster-api'
import {
  type ConsumerDevice,
  claimsFor,
  type DesiredClaim,
  dialects,
  isExpectedPool,
  isSameOwner,
  resolveClaim,
} from 'ipam-kit/provider/consumer'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, unsupported } from '../answer.js'
import { configAnswers, configOf, reconciledAnswers, reconcileVm, VSPHERE_VM, vmClaimSchema } from '../capv-machine.js'
import { addressFor, claimFor, NAMESPACE, ownerOf } from '../consumer-objects.js'
import { readInput } from '../read-input.js'
import { validNaming, wantedClaims } from '../valid-names.js'

const text = z.string()
const ownerSchema = z.strictObject({ apiVersion: text, kind: text, name: text, uid: text })
const poolSchema = z.strictObject({ apiGroup: text, kind: text, name: text })
const addressSchema = z.strictObject({
  name: text.optional(),
  poolRef: poolSchema.optional(),
  claimRef: text.optional(),
  address: text.optional(),
  prefix: z.number().optional(),
  gateway: text.optional(),
})

const reconcileSchema = z.strictObject({
  machine: text,
  clusterLabel: text.optional(),
  devices: z.array(z.strictObject({ pools: z.array(text).default([]) })),
  claims: z.array(vmClaimSchema).default([]),
})
const nameSchema = z.strictObject({ machine: text, deviceIndex: z.int().min(0), poolIndex: z.int().min(0) })
const readSchema = z.strictObject({
  namespace: text.optional(),
  devices: z.array(
    z.strictObject({
      mac: text.nullish(),
      dhcp4: z.boolean().optional(),
      dhcp6: z.boolean().optional(),
      nameservers: z.array(text).optional(),
      gateway4: text.optional(),
      gateway6: text.optional(),
      claims: z
        .array(z.strictObject({ address: addressSchema.extend({ name: text }).nullish() }).nullable())
        .default([]),
    }),
  ),
})
const resolveSchema = z.strictObject({
  want: z.strictObject({ owner: ownerSchema, poolRef: poolSchema }),
  claim: z
    .strictObject({
      owner: ownerSchema.nullish(),
      poolRef: poolSchema.optional(),
      addressRef: text.optional(),
      deleting: z.boolean().optional(),
    })
    .nullable(),
  address: addressSchema.nullish(),
})
const ownersSchema = z.strictObject({ want: ownerSchema, have: ownerSchema })
const poolsSchema = z.strictObject({ want: poolSchema, have: poolSchema })

const inputSchema = z.union([reconcileSchema, nameSchema, readSchema, resolveSchema, ownersSchema, poolsSchema])

/**
 * Consumers of claims: what cluster-api-provider-vsphere and cluster-api-provider-proxmox do with
 * them.
 */
export function capiConsumer({ input, expect }: GivenCase): Answer | Promise<Answer> {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const { data } = known
  if ('deviceIndex' in data) return claimName(data, expect)
  if ('machine' in data) return reconcile(data, expect)
  if ('devices' in data) return read(data, expect)
  if ('claim' in data) return resolve(data, expect)
  if ('uid' in data.want && 'uid' in data.have) {
    const matches = isSameOwner(data.want, data.have)
    return answerKeys(expect, { matches: () => matches })
  }
  const pools = poolsSchema.parse(data)
  return answerKeys(expect, { matches: () => isExpectedPool(pools.want, pools.have) })
}

async function reconcile(input: z.output<typeof reconcileSchema>, expect: unknown): Promise<Answer> {
  const labels = input.clusterLabel === undefined ? {} : { labels: { [CLUSTER_NAME_LABEL]: input.clusterLabel } }
  const owner = ownerOf(input.machine, labels, VSPHERE_VM)
  const devices = input.devices.map(({ pools }) => deviceOf(pools))
  return answerKeys(expect, reconciledAnswers(await reconcileVm(owner, devices, input.claims)))
}

function claimName(input: z.output<typeof nameSchema>, expect: unknown): Answer {
  const { machine, deviceIndex, poolIndex } = input
  const pools = Array.from({ length: poolIndex + 1 }, (_, index) => `pool-${index}`)
  const devices = Array.from({ length: deviceIndex + 1 }, () => deviceOf(pools))
  const { dialect, given } = validNaming('capv', devices)
  const desired = claimsFor(ownerOf(machine, {}, VSPHERE_VM), devices, dialect)
  return answerKeys(expect, { name: () => given(desired.at(-1)?.name ?? '') })
}

function read(input: z.output<typeof readSchema>, expect: unknown): Answer {
  const { namespace = NAMESPACE } = input
  const devices = input.devices.map(({ claims }) => deviceOf(claims.map((_, index) => `pool-${index}`)))
  const desired = claimsFor(ownerOf('vm', { namespace }, VSPHERE_VM), devices, 'capv')
  const texts = input.devices.flatMap(({ claims }) => claims)
  const claims = desired.flatMap((each, index) => {
    const claim = texts[index]
    return claim === null || claim === undefined ? [] : [claimFor(each, { addressRef: claim.address?.name })]
  })
  const addresses = desired.flatMap((each, index) => {
    const address = texts[index]?.address
    return address ? [addressFor(each, { ...address, claim: each.name, poolRef: each.poolRef })] : []
  })
  const settings = input.devices.map(({ mac, gateway4, gateway6 }) => ({
    macAddress: mac ?? undefined,
    gateway4,
    gateway6,
  }))
  const { config } = configOf(desired, { claims, addresses }, settings)
  return answerKeys(expect, configAnswers(config, { addresses: 'addresses' }))
}

/** The rule of cluster-api-provider-proxmox: a claim without this very owner is another's. */
const EXACT_OWNER = { ...dialects.proxmox, adoptsUnowned: false }

function resolve({ want, claim, address }: z.output<typeof resolveSchema>, expect: unknown): Answer {
  const { apiVersion, kind, name, uid } = want.owner
  const owner = ownerOf(name, { uid }, { apiVersion, kind })
  const [desired] = wantedClaims(owner, [{ name: 'net0', pools: [want.poolRef] }], EXACT_OWNER) as [DesiredClaim]
  const found =
    claim === null
      ? undefined
      : claimFor(desired, {
          ...(claim.owner === undefined ? {} : { ownerReferences: claim.owner === null ? [] : [claim.owner] }),
          ...(claim.poolRef === undefined ? {} : { poolRef: claim.poolRef }),
          addressRef: claim.addressRef,
          isDeleting: claim.deleting,
        })
  const addressName = claim === null ? desired.name : claim.addressRef
  const resolution = resolveClaim(
    desired,
    found,
    address && addressName ? addressFor(desired, { ...ofAddress(address, desired), name: addressName }) : undefined,
  )
  return answerKeys(expect, {
    status: () => STATUS[resolution.kind],
    reason: () => ('reason' in resolution ? resolution.reason : undefined),
    orphanedAddress: () => resolution.kind === 'missing' && resolution.orphanAddress !== undefined,
  })
}

/** Proxmox says Resolved of what is Bound. */
const STATUS = {
  missing: 'Missing',
  pending: 'Pending',
  bound: 'Resolved',
  deleting: 'Deleting',
  conflict: 'Conflict',
} as const

function ofAddress({ claimRef, poolRef, ...address }: z.output<typeof addressSchema>, desired: DesiredClaim) {
  return { ...address, claim: claimRef ?? desired.name, poolRef: poolRef ?? desired.poolRef }
}

function deviceOf(pools: readonly string[]): ConsumerDevice {
  return { pools: pools.map((name) => ({ apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name })) }
}
