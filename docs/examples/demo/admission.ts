import { ClusterApi, InCluster, IpamKit, Meta, Metal3, NodeIpam, OpenStack } from 'ipam-kit/crd'
import { describe, unwrap } from 'ipam-kit/errors'
import { poolRefOf } from 'ipam-kit/provider/in-cluster'
import type { Store } from 'ipam-kit/store'

/** What an API server asks an admission webhook about an object. */
export type AdmissionRequest<T extends Meta.KubeObject = Meta.KubeObject> =
  | { readonly operation: 'CREATE'; readonly object: T }
  | { readonly operation: 'UPDATE'; readonly object: T; readonly oldObject: T }
  | { readonly operation: 'DELETE'; readonly oldObject: T }

/** Where a rule looks up the other objects that it needs. */
export type Reader = Pick<Store, 'get' | 'list'>

/** The admission rule of a kind. */
export interface Rule {
  readonly model: Meta.Model<Meta.KubeObject>
  /** The webhook as it is called upstream: `validation.KIND.GROUP`, in lower case. */
  readonly webhook: string
  admit(request: AdmissionRequest, reader: Reader): Promise<Meta.Admission>
}

/** Every admission rule of the library, by kind. */
export const rules: readonly Rule[] = [
  ruleOf(ClusterApi.IPAddressClaim, (request) => ClusterApi.admitIPAddressClaim(request)),
  ruleOf(ClusterApi.IPAddress, async (request, reader) =>
    ClusterApi.admitIPAddress(
      request.operation === 'CREATE' ? { ...request, claim: await claimOf(request.object, reader) } : request,
    ),
  ),
  ...InCluster.poolModels.map((model) =>
    ruleOf<InCluster.InClusterPool>(model, async (request, reader) =>
      InCluster.admitInClusterPool(
        request.operation === 'CREATE' ? request : { ...request, inUse: await addressesOf(request.oldObject, reader) },
      ),
    ),
  ),
  ruleOf(IpamKit.IPPool, async (request, reader) => {
    const { spec } = request.operation === 'DELETE' ? request.oldObject : request.object
    const [domain, others, blocks] = await Promise.all([
      findByName(IpamKit.IPDomain, spec.domain, reader),
      listOf(IpamKit.IPPool, reader),
      listOf(IpamKit.IPBlock, reader),
    ])
    return IpamKit.admitIPPool({ ...request, domain, others, blocks })
  }),
  ruleOf(IpamKit.IPBlock, async (request, reader) => {
    const { spec } = request.operation === 'DELETE' ? request.oldObject : request.object
    return IpamKit.admitIPBlock({ ...request, domain: await findByName(IpamKit.IPDomain, spec.domain, reader) })
  }),
  ruleOf(IpamKit.IPDomain, async (request, reader) =>
    IpamKit.admitIPDomain(
      request.operation === 'DELETE' ? { ...request, blocks: await listOf(IpamKit.IPBlock, reader) } : request,
    ),
  ),
  ruleOf(IpamKit.IPHandle, (request) => IpamKit.admitIPHandle(request)),
  ruleOf(IpamKit.ClusterNetwork, (request) => IpamKit.admitClusterNetwork(request)),
  ruleOf(Metal3.IPPool, (request) => Metal3.admitMetal3IPPool(request)),
  ruleOf(Metal3.IPClaim, (request) => Metal3.admitMetal3IPClaim(request)),
  ruleOf(Metal3.IPAddress, (request) => Metal3.admitMetal3IPAddress(request)),
  ruleOf(NodeIpam.ClusterCIDR, (request) => NodeIpam.admitClusterCIDR(request)),
  ruleOf(OpenStack.OpenStackFloatingIPPool, (request) => OpenStack.admitOpenStackFloatingIPPool(request)),
  ruleOf(OpenStack.OpenStackServer, (request) => OpenStack.admitOpenStackServer(request)),
  ruleOf(OpenStack.OpenStackMachine, (request) => OpenStack.admitOpenStackMachine(request)),
  ruleOf(OpenStack.OpenStackMachineTemplate, (request) => OpenStack.admitOpenStackMachineTemplate(request)),
]

/** The rule of a kind, in any version; `undefined` for a kind that has none. */
export function ruleFor(object: { readonly apiVersion: string; readonly kind: string }): Rule | undefined {
  return rules.find(({ model }) => model.is(object))
}

/** A refusal as an API server tells it. */
export function denialOf({ webhook }: Rule, message: string): string {
  return `admission webhook ${JSON.stringify(webhook)} denied the request: ${message}`
}

function ruleOf<T extends Meta.KubeObject>(
  model: Meta.Model<T>,
  admit: (request: AdmissionRequest<T>, reader: Reader) => Meta.Admission | Promise<Meta.Admission>,
): Rule {
  const { apiVersion, kind } = model.info
  return {
    model,
    webhook: `validation.${kind.toLowerCase()}.${Meta.groupOf(apiVersion)}`,
    async admit(request, reader) {
      const read = readRequest(request, model)
      return 'problem' in read ? refusal(read.problem) : read.asked === undefined ? ADMITTED : admit(read.asked, reader)
    },
  }
}

const ADMITTED: Meta.Admission = { allowed: true, warnings: [] }

function refusal(message: string): Meta.Admission {
  return { allowed: false, code: 400, message, errors: [] }
}

/**
 * The request with its objects as the model reads them. A stored object that cannot be read has no
 * state to compare the new object with: its update is asked about like a creation, and its deletion
 * is not asked about.
 */
function readRequest<T extends Meta.KubeObject>(
  request: AdmissionRequest,
  model: Meta.Model<T>,
): { readonly asked: AdmissionRequest<T> | undefined } | { readonly problem: string } {
  const before = request.operation === 'CREATE' ? undefined : model.safeParse(request.oldObject)
  const oldObject = before?.ok ? before.value : undefined
  if (request.operation === 'DELETE') {
    return { asked: oldObject === undefined ? undefined : { operation: 'DELETE', oldObject } }
  }
  const after = model.safeParse(request.object)
  if (!after.ok) return { problem: describe(after.failure) }
  const object = after.value
  return {
    asked: oldObject === undefined ? { operation: 'CREATE', object } : { operation: 'UPDATE', object, oldObject },
  }
}

async function claimOf({ metadata, spec }: ClusterApi.IPAddress, reader: Reader): Promise<ClusterApi.ClaimLookup> {
  const { apiVersion, kind } = ClusterApi.IPAddressClaim.info
  const found = await reader.get({ apiVersion, kind, namespace: metadata.namespace, name: spec.claimRef.name })
  if (found.ok) return { kind: 'found', claim: found.value }
  if (found.failure.code === 'STORE_NOT_FOUND') return { kind: 'absent' }
  return unwrap(found)
}

/** The addresses of a pool of the in-cluster provider. */
async function addressesOf(pool: Meta.KubeObject, reader: Reader): Promise<readonly ClusterApi.IPAddress[]> {
  const wanted = Meta.formatRef(Meta.refOf(pool))
  return (await listOf(ClusterApi.IPAddress, reader)).filter(({ metadata, spec }) => {
    const ref = poolRefOf(spec.poolRef, metadata.namespace)
    return ref !== undefined && Meta.formatRef(ref) === wanted
  })
}

/** An object of a cluster-scoped kind; `undefined`: it does not exist, or cannot be read. */
async function findByName<T extends Meta.KubeObject>(
  model: Meta.Model<T>,
  name: string,
  reader: Reader,
): Promise<T | undefined> {
  const { apiVersion, kind } = model.info
  const found = await reader.get({ apiVersion, kind, name })
  if (!found.ok && found.failure.code !== 'STORE_NOT_FOUND') return unwrap(found)
  const read = found.ok ? model.safeParse(found.value) : undefined
  return read?.ok ? read.value : undefined
}

/** All objects of a kind that can be read. */
async function listOf<T extends Meta.KubeObject>(model: Meta.Model<T>, reader: Reader): Promise<readonly T[]> {
  const { apiVersion, kind } = model.info
  const { items } = unwrap(await reader.list({ apiVersion, kind }))
  return items.flatMap((item) => {
    const read = model.safeParse(item)
    return read.ok ? [read.value] : []
  })
}
