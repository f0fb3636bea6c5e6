// What a webhook answers to an API server: docs/guides/webhooks.md shows this file, and what it
// prints.
import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { admitIPPool, IPPool } from 'ipam-kit/crd/ipam-kit'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { formatFieldError } from 'ipam-kit/crd/meta'
import { admitClusterCIDR, ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { answerReview } from 'ipam-kit/provider/webhook'
import { memoryStore } from 'ipam-kit/store/memory'

const store = memoryStore({ now: Date.now })
const answer = (body: unknown) => answerReview(body, store)

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
print(await answer(review('UPDATE', claim('red'), claim('blue'))))

const conversion = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'ConversionReview',
  request: { uid: '9e2c71aa', desiredAPIVersion: `${group}/v1alpha1`, objects: [claim('blue')] },
}
print(await answer(conversion))

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
