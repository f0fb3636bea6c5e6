import { Address, Prefix } from 'ipam-kit/cidr'
import {
  claimsFor,
  type DeviceSettings,
  machineAddresses,
  machineProblems,
  netplan,
  planClaims,
  provisionedCondition,
  releasePlan,
  withNetworkConfiguration,
} from 'ipam-kit/provider/consumer'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, those } from '../answer.js'
import {
  configAnswers,
  configOf,
  reconciledAnswers,
  reconcileVm,
  settingsOf,
  VSPHERE_VM,
  vmClaimOf,
  vmClaimSchema,
} from '../capv-machine.js'
import { answerFunction, type CaseFunctions } from '../case-function.js'
import { addressOf, ownerOf } from '../consumer-objects.js'
import { askedOf, ConsumerWorld, refTo } from '../consumer-world.js'
import { validNaming, wantedClaims } from '../valid-names.js'

const text = z.string()
const texts = z.array(text)
const poolSchema = z.union([text, z.strictObject({ apiGroup: text, kind: text, name: text })])
const deviceSchema = z.strictObject({
  macAddr: text.optional(),
  networkName: text.optional(),
  deviceName: text.optional(),
  dhcp4: z.boolean().optional(),
  dhcp6: z.boolean().optional(),
  ipAddrs: texts.optional(),
  gateway4: text.optional(),
  gateway6: text.optional(),
  mtu: z.number().optional(),
  nameservers: texts.optional(),
  searchDomains: texts.optional(),
  addressesFromPools: z.array(poolSchema).optional(),
  skipIPAllocation: z.boolean().optional(),
})
const devices = z.array(deviceSchema)
const claims = z.array(vmClaimSchema)
const labels = z.record(text, text)

const readSchema = z.strictObject({
  vm: text,
  namespace: text.optional(),
  devices,
  networkStatus: z.array(z.strictObject({ macAddr: text.nullish(), connected: z.boolean().optional() })).default([]),
  claims: claims.default([]),
  addresses: z
    .array(
      z.strictObject({
        name: text,
        namespace: text.optional(),
        address: text.optional(),
        prefix: z.number().nullish(),
        gateway: text.optional(),
      }),
    )
    .default([]),
})
const reconcileSchema = z.strictObject({
  vm: text,
  namespace: text.optional(),
  labels: labels.optional(),
  poolKind: text.optional(),
  devices,
  claims: claims.default([]),
})
const deleteSchema = z.strictObject({
  vm: text,
  namespace: text.optional(),
  vmDeleting: z.literal(true),
  vmStateOutside: z.enum(['NotFound', 'Pending', 'Ready']),
  devices: devices.default([]),
  claims: claims.default([]),
})
const normalSchema = z.strictObject({
  vm: text,
  devices: devices.default([]),
  vmStateOutside: z.enum(['NotFound', 'Pending', 'Ready']).optional(),
  reportedIPs: texts.optional(),
})
const stateSchema = z.record(
  text,
  z.strictObject({ ipAddrs: texts.default([]), gateway4: text.optional(), gateway6: text.optional() }),
)
const metadataSchema = z.strictObject({ devices, ipamState: stateSchema.default({}) })
const mergeSchema = z.strictObject({ device: deviceSchema, networkConfiguration: deviceSchema })
const webhookSchema = z.strictObject({
  kind: z.enum(['VSphereMachine', 'VSphereVM', 'VSphereMachineTemplate']),
  operation: z.enum(['create', 'update']),
  newIPAddrsPerDevice: texts.nullish(),
  oldIPAddrsPerDevice: texts.nullish(),
  otherChanges: texts.default([]),
  dryRun: z.boolean().optional(),
})

const functions: CaseFunctions = {
  buildIPAMDeviceConfigs: (input, expect) => deviceConfigs(readSchema.parse(input), expect),
  BuildState: (input, expect) => state(readSchema.parse(input), expect),
  reconcileIPAddressClaims: (input, expect) => reconcile(reconcileSchema.parse(input), expect),
  reconcileDelete: (input, expect) => remove(deleteSchema.parse(input), expect),
  reconcileNormal: (input, expect) => normal(normalSchema.parse(input), expect),
  isWaitingForStaticIPAllocation: (input, expect) => {
    const { devices: given } = z.strictObject({ devices }).parse(input)
    const condition = provisionedCondition({ devices: given })
    return answerKeys(expect, { wait: () => condition?.reason === 'WaitingForStaticIPAllocation' })
  },
  GetMachineMetadata: (input, expect) => metadata(metadataSchema.parse(input), expect),
  mergeNetworkConfiguration: (input, expect) => {
    const { device, networkConfiguration } = mergeSchema.parse(input)
    return answerKeys(expect, { device: () => withNetworkConfiguration(device, networkConfiguration) })
  },
  webhook: (input, expect) => webhook(webhookSchema.parse(input), expect),
}

/** What cluster-api-provider-vsphere does with claims and addresses. */
export async function consumerCapv(given: GivenCase): Promise<Answer> {
  return answerFunction(given, functions)
}

type Device = z.output<typeof deviceSchema>

function poolsOf({ addressesFromPools = [] }: Device, kind = 'Pool') {
  const pools = addressesFromPools.map((pool) => {
    return typeof pool === 'string' ? { apiGroup: 'ipam.cluster.x-k8s.io', kind, name: pool } : pool
  })
  return { pools }
}

/** What is read back of a VM: the settings of its devices, and what they still wait for. */
function readBack(input: z.output<typeof readSchema>) {
  const owner = ownerOf(input.vm, input.namespace === undefined ? {} : { namespace: input.namespace }, VSPHERE_VM)
  const desired = wantedClaims(
    owner,
    input.devices.map((device) => poolsOf(device)),
    'capv',
  )
  const found = input.claims.map((claim) => vmClaimOf(claim, desired))
  const addresses = input.addresses.map(({ prefix, ...address }) => {
    const claim = found.find(({ status }) => status?.addressRef?.name === address.name)
    const poolRef = claim?.spec.poolRef ?? { apiGroup: 'group', kind: 'Pool', name: 'of no claim' }
    return addressOf({ ...address, prefix: prefix ?? undefined, claim: claim?.metadata.name ?? address.name, poolRef })
  })
  const settings = input.devices.map(({ gateway4, gateway6 }, index) => {
    return { macAddress: input.networkStatus[index]?.macAddr ?? undefined, gateway4, gateway6 }
  })
  return configOf(desired, { claims: found, addresses }, settings)
}

function deviceConfigs(input: z.output<typeof readSchema>, expect: unknown): Answer {
  const addressed = machineAddresses(readBack(input).devices)
  return answerKeys(expect, {
    error: () => (addressed.kind === 'waiting' ? addressed.message : null),
    configs: () =>
      addressed.kind === 'waiting'
        ? null
        : addressed.devices.map(({ index, macAddress, addresses }) => {
            return { deviceIndex: index, macAddress, addressCount: addresses.length }
          }),
  })
}

function state(input: z.output<typeof readSchema>, expect: unknown): Answer {
  const { config } = readBack(input)
  const given = input.devices.map((device, index) => {
    return { ...device, macAddr: input.networkStatus[index]?.macAddr ?? undefined }
  })
  return answerKeys(expect, {
    ...configAnswers(config, { addresses: 'ipAddrs' }),
    rendered: (asked) => askedOf(asked, renderedOf(given, settingsOf(config)).ethernets),
  })
}

async function reconcile(input: z.output<typeof reconcileSchema>, expect: unknown): Promise<Answer> {
  const { vm, namespace, labels: given, poolKind } = input
  const own = { ...(namespace === undefined ? {} : { namespace }), ...(given === undefined ? {} : { labels: given }) }
  const wanted = input.devices.map((device) => poolsOf(device, poolKind))
  return answerKeys(expect, reconciledAnswers(await reconcileVm(ownerOf(vm, own, VSPHERE_VM), wanted, input.claims)))
}

const VM_FINALIZER = 'vspherevm.infrastructure.cluster.x-k8s.io'

/**
 * A VM that is being deleted: when it is gone outside, its claims are let go, and then it goes
 * itself.
 */
async function remove(input: z.output<typeof deleteSchema>, expect: unknown): Promise<Answer> {
  const namespace = input.namespace === undefined ? {} : { namespace: input.namespace }
  const world = new ConsumerWorld(VSPHERE_VM)
  const vm = ownerOf(input.vm, { ...namespace, finalizers: [VM_FINALIZER], deletionTimestamp: 'now' }, VSPHERE_VM)
  const owner = await world.put(vm)
  const { dialect, devices } = validNaming(
    'capv',
    input.devices.map((device) => poolsOf(device)),
  )
  const desired = claimsFor(owner, devices, dialect)
  for (const claim of input.claims) await world.put(vmClaimOf(claim, desired))
  const known = { owner, naming: dialect, devices, claims: await world.claims(), addresses: [] }
  const plan = input.vmStateOutside === 'NotFound' ? releasePlan(known) : planClaims(known)
  await world.run(plan)
  if (plan.outcome.kind === 'released') await world.patch(refTo(owner), { metadata: { finalizers: null } })
  const exists = (await world.get(refTo(owner))) !== undefined
  const [claim] = await world.claims()
  const finalizers = claim?.metadata.finalizers ?? []
  return answerKeys(expect, {
    error: () => null,
    vmObjectExists: () => exists,
    claim: {
      exists: () => claim !== undefined,
      finalizers: () => finalizers,
      finalizersExclude: (asked) => those(asked, (finalizer) => !finalizers.includes(finalizer)),
      finalizersInclude: (asked) => those(asked, (finalizer) => finalizers.includes(finalizer)),
    },
  })
}

function normal(input: z.output<typeof normalSchema>, expect: unknown): Answer {
  const isReady = input.vmStateOutside === 'Ready'
  const condition = provisionedCondition({
    devices: input.devices,
    reportedAddresses: isReady ? (input.reportedIPs ?? []) : undefined,
  })
  return answerKeys(expect, { error: () => null, condition: (asked) => askedOf(asked, condition) })
}

function metadata({ devices: given, ipamState }: z.output<typeof metadataSchema>, expect: unknown): Answer {
  const settings = new Map(Object.entries(ipamState).map(([mac, own]) => [mac, settingsFrom(own)]))
  const rendered = renderedOf(given, settings)
  return answerKeys(expect, {
    waitOnNetwork: () => rendered.waitOnNetwork,
    ethernets: (asked) => askedOf(asked, rendered.ethernets),
  })
}

function settingsFrom(own: z.output<typeof stateSchema>[string]): DeviceSettings {
  return {
    addresses: own.ipAddrs.map((address) => Prefix.parse(address)),
    ...(own.gateway4 ? { gateway4: Address.parse(own.gateway4) } : {}),
    ...(own.gateway6 ? { gateway6: Address.parse(own.gateway6) } : {}),
    routes: [],
  }
}

/** What netplan is told, with the fields of a device side by side as the cases have them. */
function renderedOf(given: readonly Device[], settings: ReadonlyMap<string, DeviceSettings>) {
  const plan = netplan(
    given.map((device) => ({ ...device, macAddress: device.macAddr ?? '' })),
    settings,
  )
  const ethernets = Object.entries(plan.network.ethernets).map(([id, { match, nameservers, ...ethernet }]) => {
    return [id, { ...match, ...ethernet, nameservers: nameservers?.addresses, search: nameservers?.search }] as const
  })
  return { waitOnNetwork: plan['wait-on-network'], ethernets: Object.fromEntries(ethernets) }
}

const KINDS = { VSphereMachine: 'machine', VSphereVM: 'vm', VSphereMachineTemplate: 'template' } as const

/** Each address is that of a device of its own; each other change is of a field that was empty. */
function webhook(input: z.output<typeof webhookSchema>, expect: unknown): Answer {
  const specOf = (addresses: readonly string[] | null | undefined, changed: readonly string[]) => ({
    network: { devices: (addresses ?? []).map((address) => ({ ipAddrs: [address] })) },
    ...Object.fromEntries(changed.map((field) => [field, 'changed'])),
  })
  const change: Parameters<typeof machineProblems>[0] = {
    kind: KINDS[input.kind],
    spec: specOf(input.newIPAddrsPerDevice, input.otherChanges),
    ...(input.operation === 'update' ? { oldSpec: specOf(input.oldIPAddrsPerDevice, []) } : {}),
    isDryRun: input.dryRun,
  }
  return answerKeys(expect, { rejected: () => machineProblems(change).length > 0 })
}
