import * as Prefix from '../../cidr/nouns/prefix.js'
import { sameJson } from '../../crd/meta/patch.js'
import { check, type KindOf } from '../../errors/check.js'

/** A problem with a change of a machine. */
export interface MachineProblem {
  /** For example `spec.network.devices[0].ipAddrs[1]`. */
  readonly path: string
  readonly type: 'Invalid' | 'Forbidden'
  /** In the words of cluster-api-provider-vsphere. */
  readonly detail: string
}

/** The fields of the spec of a machine that are checked. */
export interface MachineSpec {
  readonly network?:
    | {
        readonly devices?: readonly { readonly ipAddrs?: readonly string[] | undefined }[] | undefined
        readonly [field: string]: unknown
      }
    | undefined
  readonly [field: string]: unknown
}

/**
 * The creation or change of a machine, of its object at the hypervisor, or of a template of
 * machines.
 */
export interface MachineChange {
  readonly kind: 'machine' | 'vm' | 'template'
  /** Of a template: `spec.template.spec`. */
  readonly spec: MachineSpec
  /** The spec before. Left out: the object is created. */
  readonly oldSpec?: MachineSpec | undefined
  /** A dry run, as when a topology tries a change. */
  readonly isDryRun?: boolean | undefined
}

const CHANGE: KindOf<MachineChange> = {
  kind: ['one', { machine: 1, vm: 1, template: 1 }],
  spec: ['open', { network: ['open?', { devices: ['list?', 'object'] }] }],
  oldSpec: ['open?', { network: ['open?', { devices: ['list?', 'object'] }] }],
  isDryRun: 'flag?',
}

/** Fields of a spec that may change. The second list: only while they are empty. */
const mutable = {
  machine: [['providerID', 'powerOffMode', 'guestSoftPowerOffTimeoutSeconds'], []],
  vm: [
    ['bootstrapRef', 'thumbprint', 'powerOffMode', 'guestSoftPowerOffTimeoutSeconds'],
    ['os', 'biosUUID'],
  ],
} as const

/**
 * The problems that admission rules for machines find in a change, as far as addresses matter.
 * Addresses in a spec are CIDRs, templates have none, and only devices and a few other fields may
 * change. An address that the spec before has too is no problem of the change. Empty: the change is
 * admitted. O(size of the spec).
 *
 * Source: cluster-api-provider-vsphere, internal/webhooks. Upstream checks the addresses of a
 * VSphereVM only when it is created.
 *
 * @example
 * const devices = [{ ipAddrs: ['10.0.0.5'] }]
 * machineProblems({ kind: 'machine', spec: { network: { devices } } })[0].detail // 'ip addresses should be in the CIDR format'
 */
export function machineProblems(change: MachineChange): readonly MachineProblem[] {
  check('machineProblems', 'change', change, CHANGE)

  if (change.kind === 'template') return templateProblems(change)
  const problems = addressProblems(change)
  if (change.oldSpec === undefined || isSame(fixedPart(change, change.oldSpec), fixedPart(change, change.spec))) {
    return problems
  }
  return [...problems, { path: 'spec', type: 'Forbidden', detail: 'cannot be modified' }]
}

function templateProblems({ spec, oldSpec, isDryRun = false }: MachineChange): readonly MachineProblem[] {
  const path = 'spec.template.spec'
  if (oldSpec !== undefined) {
    if (isDryRun || isSame(oldSpec, spec)) return []
    const detail = 'VSphereMachineTemplate spec.template.spec field is immutable. Please create a new resource instead.'
    return [{ path, type: 'Invalid', detail }]
  }
  const devices = (spec.network?.devices ?? []).filter(({ ipAddrs = [] }) => ipAddrs.length > 0)
  const fields = [
    ...((spec.providerID ?? '') === '' ? [] : ['providerID']),
    ...devices.map(() => 'network.devices.ipAddrs'),
  ]
  return fields.map((field) => ({ path: `${path}.${field}`, type: 'Forbidden', detail: 'cannot be set in templates' }))
}

/** A text that the spec before has as often is no problem of the change. */
function addressProblems({ spec, oldSpec }: MachineChange): readonly MachineProblem[] {
  const before = new Map<string, number>()
  for (const { text } of textsOf(oldSpec)) before.set(text, (before.get(text) ?? 0) + 1)
  return textsOf(spec).flatMap(({ text, path }): readonly MachineProblem[] => {
    const left = before.get(text) ?? 0
    before.set(text, left - 1)
    if (left > 0 || Prefix.safeParse(text).ok) return []
    return [{ path, type: 'Invalid', detail: 'ip addresses should be in the CIDR format' }]
  })
}

/** The addresses of the devices of a spec. */
function textsOf(spec: MachineSpec | undefined): readonly { readonly text: string; readonly path: string }[] {
  return (spec?.network?.devices ?? []).flatMap(({ ipAddrs = [] }, device) =>
    ipAddrs.map((text, index) => ({ text, path: `spec.network.devices[${device}].ipAddrs[${index}]` })),
  )
}

/** The part of a spec that may not change. */
function fixedPart({ kind, oldSpec }: MachineChange, spec: MachineSpec): object {
  const [always, whileEmpty] = mutable[kind as 'machine' | 'vm']
  const fixed: { [field: string]: unknown } = { ...spec }
  for (const field of always) delete fixed[field]
  for (const field of whileEmpty) if ((oldSpec?.[field] ?? '') === '') delete fixed[field]
  const { devices: _, ...network } = spec.network ?? {}
  return { ...fixed, network }
}

/** Whether two JSON values are equal. A missing field equals an undefined one. */
function isSame(left: object, right: object): boolean {
  return sameJson(JSON.parse(JSON.stringify(left)), JSON.parse(JSON.stringify(right)))
}
