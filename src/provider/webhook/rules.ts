import * as ClusterApi from '../../crd/cluster-api/index.js'
import type { PoolAdmissionOptions } from '../../crd/in-cluster/admission.js'
import * as InCluster from '../../crd/in-cluster/index.js'
import { GROUP } from '../../crd/in-cluster/names.js'
import * as IpamKit from '../../crd/ipam-kit/index.js'
import {
  type Admission,
  type AdmissionRequest as AskedAdmission,
  allowed,
  badRequest,
  type FieldValidationOptions,
  isSettled,
  isSpecSame,
  withWarnings,
} from '../../crd/meta/admission.js'
import type { Model } from '../../crd/meta/model.js'
import { formatRef, type KindInfo, type KubeObject } from '../../crd/meta/object.js'
import * as Metal3 from '../../crd/metal3/index.js'
import * as Networking from '../../crd/networking/index.js'
import type { ClusterCIDRAdmissionOptions } from '../../crd/node-ipam/admission.js'
import * as NodeIpam from '../../crd/node-ipam/index.js'
import type { ImmutabilityOptions } from '../../crd/openstack/admission.js'
import * as OpenStack from '../../crd/openstack/index.js'
import type { AdmissionRequest } from '../../crd/webhook/index.js'
import { errorText } from '../../errors/cause.js'
import { modelWatch, type Watch } from '../../plan/index.js'
import { poolOfAddress } from '../claims/references.js'
import { addressIn } from '../claims/salvage.js'
import type { ReviewLookups } from './lookups.js'

/** How strict the rules are. Each option is read by the kinds that have it. */
export interface ReviewOptions extends PoolAdmissionOptions, ClusterCIDRAdmissionOptions {
  /**
   * Further rules, of any kind. A request is answered by all rules of its kind: see
   * `mergeAdmissions` of `ipam-kit/crd/webhook`. Default: none.
   */
  readonly rules?: readonly ReviewRule[] | undefined
}

/** A rule of a kind, with the look-ups that it needs. */
export interface ReviewRule {
  /** The model of the kind. The objects of the request are as the API server sent them. */
  readonly model: Model<KubeObject>
  /** Rejects with an IpamError if a look-up fails: the answer is then a refusal with code 500. */
  admit(request: AdmissionRequest, lookups: ReviewLookups): Admission | Promise<Admission>
}

/** What the rules of each kind take. */
interface RuleOptions {
  readonly fields: FieldValidationOptions
  readonly inCluster: PoolAdmissionOptions
  readonly clusterCIDR: ClusterCIDRAdmissionOptions
  readonly openStack: ImmutabilityOptions
}

/** The options of the rules of each kind: no rule takes an option of another kind. */
export function ruleOptions(options: ReviewOptions, isDryRun: boolean | undefined): RuleOptions {
  const { fieldValidation, ipv4Prefixes, maxIPv6SubnetBits } = options
  const fields = { fieldValidation }
  return {
    fields,
    inCluster: { fieldValidation, ipv4Prefixes },
    clusterCIDR: { fieldValidation, maxIPv6SubnetBits },
    openStack: { fieldValidation, isDryRun },
  }
}

/** The admission rules of a kind, with the look-ups that they need. */
export interface Rule {
  readonly model: Model<KubeObject>
  /** Rejects with an IpamError if a look-up fails. */
  admit(request: AdmissionRequest, lookups: ReviewLookups, options: RuleOptions): Promise<Admission>
}

/** All rules, one for each kind. */
export const rules: readonly Rule[] = /* @__PURE__ */ allRules()

/**
 * The kinds that `answerReview` has admission rules for: what a ValidatingWebhookConfiguration may
 * register.
 */
export const reviewedKinds: readonly KindInfo[] = /* @__PURE__ */ rules.map(({ model }) => model.info)

function allRules(): readonly Rule[] {
  return [
    anyVersionRule(ClusterApi.IPAddressClaim, (request, _, options) =>
      ClusterApi.admitIPAddressClaim(request, options.fields),
    ),
    anyVersionRule(ClusterApi.IPAddress, async (request, lookups, options) => {
      if (request.operation !== 'CREATE') return ClusterApi.admitIPAddress(request, options.fields)
      return ClusterApi.admitIPAddress({ ...request, claim: await claimOf(request.object, lookups) }, options.fields)
    }),
    ...InCluster.poolModels.map(poolRule),
    ruleOf(IpamKit.IPPool, async (request, lookups, options) => {
      if (needsNoLookups(request)) return IpamKit.admitIPPool(request, options.fields)
      const { domain } = specOf(request)
      const [blocks, told] = await blocksOf(domain, lookups)
      if (request.operation === 'DELETE')
        return withWarnings(IpamKit.admitIPPool({ ...request, blocks }, options.fields), told)
      const { objects: others } = await lookups.by(POOLS, 'domain', domain)
      const asked = { ...request, domain: await domainOf(domain, lookups), others, blocks }
      return withWarnings(IpamKit.admitIPPool(asked, options.fields), told)
    }),
    ruleOf(IpamKit.IPBlock, async (request, lookups, options) => {
      if (request.operation === 'DELETE' || needsNoLookups(request))
        return IpamKit.admitIPBlock(request, options.fields)
      const domain = await domainOf(specOf(request).domain, lookups)
      return IpamKit.admitIPBlock({ ...request, domain }, options.fields)
    }),
    ruleOf(IpamKit.IPDomain, async (request, lookups, options) => {
      if (request.operation !== 'DELETE') return IpamKit.admitIPDomain(request, options.fields)
      const [blocks, told] = await blocksOf(request.oldObject.metadata.name, lookups)
      return withWarnings(IpamKit.admitIPDomain({ ...request, blocks }, options.fields), told)
    }),
    ruleOf(IpamKit.IPHandle, (request, _, options) => IpamKit.admitIPHandle(request, options.fields)),
    ruleOf(IpamKit.ClusterNetwork, (request, _, options) => IpamKit.admitClusterNetwork(request, options.fields)),
    ruleOf(Metal3.IPPool, (request, _, options) => Metal3.admitMetal3IPPool(request, options.fields)),
    ruleOf(Metal3.IPClaim, (request, _, options) => Metal3.admitMetal3IPClaim(request, options.fields)),
    ruleOf(Metal3.IPAddress, (request, _, options) => Metal3.admitMetal3IPAddress(request, options.fields)),
    ruleOf(Networking.ServiceCIDR, (request) => Networking.admitServiceCIDR(request)),
    ruleOf(Networking.IPAddress, (request) => Networking.admitServiceIPAddress(request)),
    ruleOf(NodeIpam.ClusterCIDR, (request, _, options) => NodeIpam.admitClusterCIDR(request, options.clusterCIDR)),
    ruleOf(OpenStack.OpenStackFloatingIPPool, (request, _, options) =>
      OpenStack.admitOpenStackFloatingIPPool(request, options.fields),
    ),
    ruleOf(OpenStack.OpenStackServer, (request, _, options) =>
      OpenStack.admitOpenStackServer(request, options.openStack),
    ),
    ruleOf(OpenStack.OpenStackMachine, (request, _, options) =>
      OpenStack.admitOpenStackMachine(request, options.fields),
    ),
    ruleOf(OpenStack.OpenStackMachineTemplate, (request, _, options) =>
      OpenStack.admitOpenStackMachineTemplate(request, options.openStack),
    ),
  ]
}

/** The objects of a request: those that its operation has. */
export function objectsOf(request: AdmissionRequest): readonly KubeObject[] {
  if (request.operation === 'DELETE') return [request.oldObject]
  return request.operation === 'CREATE' ? [request.object] : [request.object, request.oldObject]
}

type Judge<T extends KubeObject> = (
  request: AskedAdmission<T>,
  lookups: ReviewLookups,
  options: RuleOptions,
) => Admission | Promise<Admission>

/**
 * The rule of a kind, for objects as its model reads them. A stored object that cannot be read has
 * no state to compare the new one with: its update is judged as a creation, unless it changes the
 * metadata alone, and its deletion is allowed.
 */
function ruleOf<T extends KubeObject>(model: Model<T>, judge: Judge<T>): Rule {
  return {
    model,
    async admit(request, lookups, options) {
      const before = request.operation === 'CREATE' ? undefined : model.safeParse(request.oldObject)
      const oldObject = before?.ok ? before.value : undefined
      if (request.operation === 'DELETE') {
        return oldObject === undefined ? allowed() : judge({ operation: 'DELETE', oldObject }, lookups, options)
      }
      const after = model.safeParse(request.object)
      const unread = request.operation === 'UPDATE' && before && admitUnread(request, before, after)
      if (unread) return unread
      if (!after.ok) return badRequest(after.failure.message)
      const object = after.value
      const asked: AskedAdmission<T> =
        oldObject === undefined ? { operation: 'CREATE', object } : { operation: 'UPDATE', object, oldObject }
      return judge(asked, lookups, options)
    },
  }
}

/** The rule of a kind whose objects are judged in the version in which they were sent. */
function anyVersionRule(model: Model<KubeObject>, judge: Judge<KubeObject>): Rule {
  return {
    model,
    async admit(request, lookups, options) {
      const isNamed = objectsOf(request).every(({ metadata: { name } }) => typeof name === 'string')
      if (!isNamed) return badRequest(`the ${model.info.kind} has no name`)
      return judge(request, lookups, options)
    },
  }
}

type Read = ReturnType<Model<KubeObject>['safeParse']>

/**
 * The answer to an update from or to an object that cannot be read, if no rule is needed for it: it
 * changes the metadata of such an object alone, or the object does not exist after it. `undefined`:
 * the rules decide.
 */
function admitUnread(
  { object, oldObject }: Extract<AdmissionRequest, { operation: 'UPDATE' }>,
  before: Read,
  after: Read,
): Admission | undefined {
  if (before.ok && after.ok) return undefined
  const rest = ({ metadata: _, ...fields }: KubeObject) => JSON.stringify(fields)
  const isSame = !before.ok && rest(object) === rest(oldObject)
  if (!isSame && !isSettled(object, oldObject)) return undefined
  return allowed(after.ok ? [] : [after.failure.message])
}

/**
 * The rule of a kind of in-cluster pools. Addresses in use keep their pool, also if the stored pool
 * cannot be read.
 */
function poolRule(model: Model<InCluster.InClusterPool>): Rule {
  return {
    model,
    async admit(request, lookups, options) {
      const { name } = (request.operation === 'DELETE' ? request.oldObject : request.object).metadata
      // the addresses in use are found by it
      if (request.operation !== 'CREATE' && typeof name !== 'string') return badRequest('the pool has no name')
      if (request.operation === 'DELETE') {
        const oldObject = request.oldObject as InCluster.InClusterPool
        const inUse = await addressesOf(oldObject, model, lookups)
        return InCluster.admitInClusterPool({ operation: 'DELETE', oldObject, inUse }, options.inCluster)
      }
      const after = model.safeParse(request.object)
      const before = request.operation === 'UPDATE' ? model.safeParse(request.oldObject) : undefined
      const unread = request.operation === 'UPDATE' && before && admitUnread(request, before, after)
      if (unread) return unread
      if (!after.ok) return badRequest(after.failure.message)
      const object = after.value
      if (before === undefined) return InCluster.admitInClusterPool({ operation: 'CREATE', object }, options.inCluster)
      // a pool that cannot be read may have had any address
      const oldObject = before.ok ? before.value : withoutEntries(object)
      const update = { operation: 'UPDATE', object, oldObject } as const
      const inUse = needsNoLookups(update) ? [] : await addressesOf(object, model, lookups)
      return InCluster.admitInClusterPool({ ...update, inUse }, options.inCluster)
    },
  }
}

/** A pool without addresses or prefixes. */
function withoutEntries(pool: InCluster.InClusterPool): InCluster.InClusterPool {
  return InCluster.isPrefixPool(pool)
    ? { ...pool, spec: { ...pool.spec, prefixes: [] } }
    : ({ ...pool, spec: { ...pool.spec, addresses: [] } } as InCluster.InClusterPool)
}

const POOL_KINDS = {
  kinds: InCluster.poolModels.map(({ info }) => ({ ...info, group: GROUP })),
  emptyGroup: GROUP,
}

/**
 * Addresses by their pool. An address that does not fit its schema counts, as far as it can be
 * read.
 */
const ADDRESSES: Watch<ClusterApi.IPAddress> = {
  ...ClusterApi.IPAddress.info,
  parse: (object) => {
    const value = addressIn(object)
    return value === undefined ? { ok: false, problem: 'not an IPAddress of a pool' } : { ok: true, value }
  },
  indexes: {
    pool: (address) => {
      const pool = poolOfAddress(address, POOL_KINDS)
      return pool === undefined ? [] : [formatRef(pool)]
    },
  },
}

/** Claims are not parsed here: the rules of addresses read them, and refuse unreadable ones. */
const CLAIMS: Watch<KubeObject> = { ...ClusterApi.IPAddressClaim.info, parse: (value) => ({ ok: true, value }) }

const DOMAINS = /* @__PURE__ */ modelWatch(IpamKit.IPDomain)
const POOLS = /* @__PURE__ */ modelWatch(IpamKit.IPPool, {
  indexes: { domain: (pool: IpamKit.IPPool) => [pool.spec.domain] },
})
const BLOCKS = /* @__PURE__ */ modelWatch(IpamKit.IPBlock, {
  indexes: { domain: (block: IpamKit.IPBlock) => [block.spec.domain] },
})

/** The addresses in use of a pool. */
async function addressesOf(
  { metadata: { name, namespace } }: KubeObject,
  { info }: Model<InCluster.InClusterPool>,
  lookups: ReviewLookups,
): Promise<readonly ClusterApi.IPAddress[]> {
  const ref = { kind: info.kind, name, namespace: info.namespaced ? namespace : undefined }
  return (await lookups.by(ADDRESSES, 'pool', formatRef(ref), ref.namespace)).objects
}

async function claimOf(address: KubeObject, lookups: ReviewLookups): Promise<ClusterApi.ClaimLookup> {
  const read = ClusterApi.IPAddress.safeParse(address)
  // the rules report the problem
  if (!read.ok) return { kind: 'absent' }
  const { metadata, spec } = read.value
  try {
    const claim = await lookups.get(CLAIMS, { name: spec.claimRef.name, namespace: metadata.namespace })
    return claim === undefined ? { kind: 'absent' } : { kind: 'found', claim }
  } catch (error) {
    return { kind: 'failed', problem: errorText(error) }
  }
}

function domainOf(name: string, lookups: ReviewLookups): Promise<IpamKit.IPDomain | undefined> {
  return lookups.get(DOMAINS, { name })
}

/** The blocks of a domain, and the warning of those that cannot be read: they may be of it too. */
async function blocksOf(
  domain: string,
  lookups: ReviewLookups,
): Promise<readonly [blocks: readonly IpamKit.IPBlock[], warnings: readonly string[]]> {
  const { objects: blocks, unreadable: count } = await lookups.by(BLOCKS, 'domain', domain)
  if (count === 0) return [blocks, []]
  return [blocks, [`${count} ${count === 1 ? 'block' : 'blocks'} cannot be read, and may be of the domain ${domain}`]]
}

function specOf<T extends KubeObject & { readonly spec: object }>(request: AskedAdmission<T>): T['spec'] {
  return request.operation === 'DELETE' ? request.oldObject.spec : request.object.spec
}

/**
 * Whether an update is judged without other objects: it leaves the spec as it is, or ends a
 * deletion.
 */
function needsNoLookups(request: AskedAdmission<KubeObject>): boolean {
  if (request.operation !== 'UPDATE') return false
  const { object, oldObject } = request
  return isSpecSame(object, oldObject) || isSettled(object, oldObject)
}
