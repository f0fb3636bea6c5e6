// What a webhook answers to an API server: docs/guides/webhooks.md shows this file, and what it
// prints.
import {
  admitIPAddress,
  admitIPAddressClaim,
  type ClaimLookup,
  IPAddress,
  IPAddressClaim,
} from 'ipam-kit/crd/cluster-api'
import { poolModels } from 'ipam-kit/crd/in-cluster'
import { admitIPPool, IPPool } from 'ipam-kit/crd/ipam-kit'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { formatFieldError } from 'ipam-kit/crd/meta'
import { admitClusterCIDR, ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import {
  type AdmissionRequest,
  answerAdmissionReview,
  answerConversionReview,
  parseAdmissionReview,
} from 'ipam-kit/crd/webhook'
import { describe } from 'ipam-kit/errors'
import { memoryStore } from 'ipam-kit/store/memory'

const models = [IPAddressClaim, IPAddress, ...poolModels]
const store = memoryStore({ now: Date.now })

async function answer(path: string, body: unknown): Promise<unknown> {
  if (path === '/convert') return answerConversionReview(body, models)
  const request = parseAdmissionReview(body)
  return answerAdmissionReview(request, await admit(request))
}

async function admit(request: AdmissionRequest) {
  if (request.kind.kind === 'IPAddressClaim') return admitIPAddressClaim(request)
  if (request.operation !== 'CREATE') return admitIPAddress(request)
  return admitIPAddress({ ...request, claim: await claimOf(request) })
}

async function claimOf({ object, namespace }: AdmissionRequest & { operation: 'CREATE' }): Promise<ClaimLookup> {
  const address = IPAddress.safeParse(object)
  if (!address.ok) return { kind: 'absent' } // what is wrong with it is for the rules to say
  const { apiVersion, kind } = IPAddressClaim.info
  const found = await store.get({ apiVersion, kind, namespace, name: address.value.spec.claimRef.name })
  if (found.ok) return { kind: 'found', claim: found.value }
  const { failure } = found
  return failure.code === 'STORE_NOT_FOUND' ? { kind: 'absent' } : { kind: 'failed', problem: describe(failure) }
}

const group = 'ipam.cluster.x-k8s.io'
const review = (operation: string, object: object, oldObject: object | null) => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  request: {
    uid: '705ab4f5',
    kind: { group, version: 'v1beta2', kind: 'IPAddressClaim' },
    name: 'web-0',
    namespace: 'lab',
    operation,
    object,
    oldObject,
  },
})
const claim = (pool: string) => ({
  apiVersion: `${group}/v1beta2`,
  kind: 'IPAddressClaim',
  metadata: { name: 'web-0', namespace: 'lab' },
  spec: { clusterName: 'c1', poolRef: { apiGroup: group, kind: 'InClusterIPPool', name: pool } },
})
print(await answer('/validate', review('UPDATE', claim('red'), claim('blue'))))

const conversion = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'ConversionReview',
  request: { uid: '9e2c71aa', desiredAPIVersion: `${group}/v1alpha1`, objects: [claim('blue')] },
}
print(await answer('/convert', conversion))

const service = { namespace: 'ipam-system', name: 'webhook', path: '/convert' }
const manifest = crdManifest(IPAddressClaim, { conversion: { service } })
print(manifest.spec.conversion)

const wrong = { ...claim('blue'), spec: { clusterName: '', poolRef: { apiGroup: group, kind: 'InClusterIPPool' } } }
for (const error of IPAddressClaim.validate(wrong)) console.log(formatFieldError(error))

const spec = { subnets: [{ cidr: '10.0.0.0/24', gateway: '10.0.1.1' }] }
const pool = IPPool.parse({ apiVersion: IPPool.info.apiVersion, kind: 'IPPool', metadata: { name: 'blue' }, spec })
const admission = admitIPPool({ operation: 'CREATE', object: pool, others: [] })
if (!admission.allowed) console.log(admission.message)

const rack = ClusterCIDR.parse({
  apiVersion: ClusterCIDR.info.apiVersion,
  kind: 'ClusterCIDR',
  metadata: { name: 'rack' },
  spec: { perNodeHostBits: 8, ipv6: 'fd00:1:1::/64' },
})
const forUpstream = admitClusterCIDR({ operation: 'CREATE', object: rack }, { maxIPv6SubnetBits: 16 })
if (!forUpstream.allowed) console.log(forUpstream.message)

function print(value: unknown): void {
  console.log(JSON.stringify(value, undefined, 2))
}
