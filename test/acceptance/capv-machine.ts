import { Address, Prefix } from 'ipam-kit/cidr'
import type { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { Condition, KubeObject } from 'ipam-kit/crd/meta'
import {
  type ConsumerDevice,
  claimsFor,
  type DesiredClaim,
  type DeviceSettings,
  type MachineConfig,
  type MachineDevice,
  machineConfig,
  planClaims,
  resolveClaims,
} from 'ipam-kit/provider/consumer'
import * as z from 'zod'
import { type Answers, those } from './answer.js'
import { claimOf, readyCondition } from './consumer-objects.js'
import { askedOf, ConsumerWorld } from './consumer-world.js'
import { validName, validNaming } from './valid-names.js'

export const VSPHERE_VM = { apiVersion: 'infrastructure.cluster.x-k8s.io/v1beta2', kind: 'VSphereVM' }

/**
 * A claim of a VSphereVM as the cases write it. `ready`: what its condition says; `v1beta1Ready`:
 * what one of the older kind does.
 */
export const vmClaimSchema = z.strictObject({
  name: z.string(),
  namespace: z.string().optional(),
  addressRef: z.string().optional(),
  finalizers: z.array(z.string()).optional(),
  ready: z.string().optional(),
  v1beta1Ready: z.string().optional(),
  reason: z.string().optional(),
  message: z.string().optional(),
})

type VmClaim = z.output<typeof vmClaimSchema>

/** A claim of the name of a desired one. Who owns it is not said: nobody does. */
export function vmClaimOf(text: VmClaim, desired: readonly DesiredClaim[]): IPAddressClaim {
  const name = validName(text.name)
  const wanted = desired.find((each) => each.name === name)
  const { namespace, addressRef, finalizers, ready, v1beta1Ready, reason, message } = text
  const poolRef = wanted?.poolRef ?? { apiGroup: 'group', kind: 'Pool', name: 'of no device' }
  const claim = claimOf({
    name,
    namespace: namespace ?? wanted?.namespace,
    poolRef,
    addressRef,
    finalizers,
    ...(ready === undefined ? {} : { conditions: [readyCondition(ready, reason, message)] }),
  })
  if (v1beta1Ready === undefined) return claim
  const conditions = [readyCondition(v1beta1Ready, reason, message)]
  return { ...claim, status: { ...claim.status, deprecated: { v1beta1: { conditions } } } } as IPAddressClaim
}

/** What a reconcile of claims left behind. */
export interface Reconciled {
  readonly condition: Omit<Condition, 'lastTransitionTime'> | undefined
  readonly claims: readonly IPAddressClaim[]
}

/** Plans the claims of a VM and carries the plan out. */
export async function reconcileVm(
  owner: KubeObject,
  devices: readonly ConsumerDevice[],
  texts: readonly VmClaim[],
): Promise<Reconciled> {
  const world = new ConsumerWorld(owner)
  const stored = await world.put(owner)
  const naming = validNaming('capv', devices)
  const known = { owner: stored, naming: naming.dialect, devices: naming.devices, addresses: [] }
  const desired = claimsFor(stored, naming.devices, naming.dialect)
  for (const text of texts) await world.put(vmClaimOf(text, desired))
  const plan = planClaims({ ...known, claims: await world.claims() })
  await world.run(plan)
  const { condition } = plan.outcome
  return {
    condition: condition && { ...condition, message: naming.given(condition.message) },
    claims: (await world.claims()).map(({ metadata, spec, ...claim }) => ({
      ...claim,
      metadata: { ...metadata, name: naming.given(metadata.name) },
      spec: { ...spec, poolRef: { ...spec.poolRef, name: naming.given(spec.poolRef.name) } },
    })),
  }
}

export function reconciledAnswers({ condition, claims }: Reconciled): Answers {
  return {
    error: () => null,
    claimCount: () => claims.length,
    claimNames: () => claims.map(({ metadata }) => metadata.name),
    everyClaim: (asked) => alike(claims.map(({ metadata }) => askedOf(asked, metadata))),
    claims: (asked) => askedOf(asked, claims.map(claimText)),
    condition: (asked) => askedOf(asked, condition),
  }
}

function claimText({ metadata, spec }: IPAddressClaim) {
  return {
    name: metadata.name,
    poolRefName: spec.poolRef.name,
    finalizer: metadata.finalizers?.join(),
    owner: metadata.ownerReferences?.map(({ name }) => name).join(),
    labels: metadata.labels,
  }
}

/** The one value that all have; all of them where they differ. */
function alike(values: readonly unknown[]): unknown {
  return new Set(values.map((value) => JSON.stringify(value))).size === 1 ? values[0] : values
}

/**
 * The settings of the devices of a VM, from claims and addresses, as upstream takes them: an
 * address without a prefix has `/0`.
 */
export function configOf(
  desired: readonly DesiredClaim[],
  objects: { readonly claims: readonly IPAddressClaim[]; readonly addresses: Parameters<typeof resolveClaims>[2] },
  devices: readonly Omit<MachineDevice, 'claims'>[],
): { readonly devices: readonly MachineDevice[]; readonly config: MachineConfig } {
  const resolved = resolveClaims(desired, objects.claims, objects.addresses)
  const withClaims = devices.map((device, index) => {
    return { ...device, claims: resolved.filter(({ desired }) => desired.deviceIndex === index) }
  })
  return { devices: withClaims, config: machineConfig(withClaims, { lax: true }) }
}

/** What can be asked of settings. `names` are those of the fields in the cases. */
export function configAnswers(config: MachineConfig, names: { readonly addresses: string }): Answers {
  const problems =
    config.kind === 'waiting'
      ? [config.message]
      : config.kind === 'invalid'
        ? config.problems.map(({ message }) => message)
        : []
  const text = problems.join('\n')
  const state = () => stateOf(settingsOf(config), names)
  return {
    error: () => (problems.length === 0 ? null : text),
    errors: () => problems,
    errorContains: (asked) => those(asked, (part) => text.includes(part)),
    errorsContain: (asked) => those(asked, (part) => text.includes(part)),
    state,
    devices: state,
    noStateFor: (asked) => those(asked, (mac) => !settingsOf(config).has(mac)),
  }
}

type SettingsByMac = ReadonlyMap<string, DeviceSettings>

export function settingsOf(config: MachineConfig): SettingsByMac {
  switch (config.kind) {
    case 'waiting':
      return new Map()
    case 'invalid':
      return config.partial
    case 'configured':
      return config.settings
  }
}

function stateOf(settings: SettingsByMac, names: { readonly addresses: string }): unknown {
  const entries = [...settings].map(([mac, { addresses, gateway4, gateway6 }]) => {
    const texts = { [names.addresses]: addresses.map(Prefix.format) }
    return [
      mac,
      {
        ...texts,
        ...(gateway4 === undefined ? {} : { gateway4: Address.format(gateway4) }),
        ...(gateway6 === undefined ? {} : { gateway6: Address.format(gateway6) }),
      },
    ]
  })
  return Object.fromEntries(entries)
}
