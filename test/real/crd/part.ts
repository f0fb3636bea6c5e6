import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { IPAddress, IPAddressClaim } from '../../../src/crd/cluster-api/index.js'
import { InClusterIPPool, poolModels } from '../../../src/crd/in-cluster/index.js'
import * as IpamKit from '../../../src/crd/ipam-kit/index.js'
import { IPAMClaim } from '../../../src/crd/ipamclaims/index.js'
import { type CrdManifest, crdManifest } from '../../../src/crd/manifest/index.js'
import { formatFieldErrorBody } from '../../../src/crd/meta/field-error.js'
import { type CrdModel, groupOf, type KubeObject } from '../../../src/crd/meta/index.js'
import { versionOf } from '../../../src/crd/meta/object.js'
import * as Metal3 from '../../../src/crd/metal3/index.js'
import { NetworkAttachmentDefinition } from '../../../src/crd/multinet/index.js'
import * as NodeIpam from '../../../src/crd/node-ipam/index.js'
import * as OpenStack from '../../../src/crd/openstack/index.js'
import * as Whereabouts from '../../../src/crd/whereabouts/index.js'
import type { Store } from '../../../src/store/index.js'
import {
  type ClientNodeConfig,
  type ClientNodeWatch,
  fromClientNode,
  kubernetesStore,
} from '../../../src/store/kubernetes/index.js'
import { memoryStore } from '../../../src/store/memory/index.js'
import type { Part, Report } from '../report.js'
import { importClient, installClients } from '../servers/install.js'
import { type RealKubernetes, startKubernetes } from '../servers/kubernetes.js'
import { blockTests } from './blocks.js'
import { networkTests } from './networks.js'
import { rightObjects, status, wrongObjects, wrongStatuses } from './objects.js'
import { type ReviewServer, startReviewServer } from './review-server.js'

const models: readonly CrdModel<KubeObject>[] = [
  IPAddressClaim,
  IPAddress,
  ...poolModels,
  Metal3.IPPool,
  Metal3.IPClaim,
  Metal3.IPAddress,
  IpamKit.IPPool,
  IpamKit.IPBlock,
  IpamKit.IPDomain,
  IpamKit.IPHandle,
  IpamKit.ClusterNetwork,
  NodeIpam.ClusterCIDR,
  OpenStack.OpenStackFloatingIPPool,
  OpenStack.OpenStackServer,
  OpenStack.OpenStackMachine,
  OpenStack.OpenStackMachineTemplate,
  NetworkAttachmentDefinition,
  IPAMClaim,
  Whereabouts.IPPool,
  Whereabouts.OverlappingRangeIPReservation,
  Whereabouts.NodeSlicePool,
]

/** The definitions that we make, and the webhooks that go with them, on a real API server. */
export const crd: Part = {
  name: 'crd',
  about:
    'an API server takes our definitions, says of objects what validate says, and is content with our answers to its reviews',
  place: 'first',
  async run(report) {
    let store: Store = memoryStore({ now: Date.now })
    const reviews = await startReviewServer({
      get: (ref) => store.get(ref),
      list: (query, options) => store.list(query, options),
    })
    try {
      const definitions = models.map((model) => definitionOf(model, reviews))
      const server = await startKubernetes({ crds: definitions })
      store = await storeOf(server)
      try {
        for (const definition of definitions) {
          await report.test(`${definition.metadata.name} is established as it is`, () =>
            isEstablished(server, definition),
          )
        }
        await report.test('an object is wrong in the same fields, for the same reasons', () => saysTheSame(server))
        await report.test('an object is the same in every version', () => converts(server, reviews))
        await blockTests(report, server)
        await networkTests(report, server)
        await admissions(report, server, reviews)
      } finally {
        await server.stop()
      }
    } finally {
      await reviews.close()
    }
  },
}

function definitionOf(model: CrdModel<KubeObject>, { url, caBundle }: ReviewServer): CrdManifest {
  const hasWebhook = model.versions.length > 1
  return crdManifest(model, hasWebhook ? { conversion: { url: `${url}/convert`, caBundle } } : {})
}

interface Definition extends CrdManifest {
  readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string }[] }
}

async function isEstablished(server: RealKubernetes, definition: CrdManifest): Promise<string> {
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${definition.metadata.name}`
  const { body } = await server.request<Definition>('GET', path)
  const conditions = Object.fromEntries(body.status.conditions.map(({ type, status }) => [type, status]))
  assert.deepEqual(conditions, { NamesAccepted: 'True', Established: 'True' })
  assert.deepEqual(body.spec.versions, definition.spec.versions)
  return body.spec.versions.map(({ name }) => name).join(', ')
}

interface Cause {
  readonly field: string
  readonly message: string
}

interface Status {
  readonly status: string
  readonly message: string
  readonly reason: string
  readonly details?: { readonly causes?: readonly Cause[] }
}

function modelOf(object: KubeObject): CrdModel<KubeObject> {
  const model = models.find((candidate) => candidate.is(object))
  assert(model !== undefined)
  return model
}

function pathOf(object: KubeObject, apiVersion = object.apiVersion): string {
  const { plural, namespaced } = modelOf(object).info
  const { namespace = 'default' } = object.metadata
  return `/apis/${apiVersion}${namespaced ? `/namespaces/${namespace}` : ''}/${plural}`
}

/**
 * What the two say that the other does not. The server stops at the first keyword that a text
 * breaks, where validate goes on; and of a number beyond its format it says the field at the end of
 * the sentence only.
 */
function differences(name: string, theirs: Status, object: KubeObject): readonly string[] {
  const causes = theirs.details?.causes ?? [{ field: '?', message: theirs.message }]
  const told = causes.filter(({ message }) => !message.includes(UNASKED))
  const own = modelOf(object).validate(object)
  const ownLines = own.map((error) => lineOf({ field: error.path, message: formatFieldErrorBody(error) }))
  const fields = told.map(({ field, message }) =>
    field === '<nil>' ? (/ in (\S+)$/.exec(message)?.[1] ?? '?') : field,
  )
  const missing = told
    .filter(({ field }) => field !== '<nil>')
    .map(lineOf)
    .filter((line) => !ownLines.includes(line))
  const unheard = own.filter(({ path }) => !fields.includes(path)).map(({ path }) => path)
  const unsaid = fields.filter((field) => own.every(({ path }) => path !== field))
  return [
    ...missing.map((line) => `${name}: only the server: ${line}`),
    ...unheard.map((path) => `${name}: only validate: ${path}`),
    ...unsaid.map((field) => `${name}: only the server: ${field}`),
  ]
}

/** Rules in CEL are asked once everything else is right, and the server says that they were not. */
const UNASKED = 'some validation rules were not checked because the object was invalid'

function lineOf({ field, message }: Cause): string {
  return `${field}: ${message}`
}

async function saysTheSame(server: RealKubernetes): Promise<string> {
  const found: string[] = []
  for (const object of wrongObjects) {
    const { body } = await server.request<Status>('POST', `${pathOf(object)}?dryRun=All`, { body: object })
    found.push(...differences(`${object.kind} ${object.metadata.name}`, body, object))
  }
  const claim = { ...example('IPAddressClaim', 'in-v1beta2'), metadata: { name: 'with-status', namespace: 'default' } }
  const created = await server.request<KubeObject>('POST', pathOf(claim), { body: claim })
  assert.equal(created.status, 201)
  for (const [index, wrong] of wrongStatuses.entries()) {
    const object = { ...created.body, status: wrong }
    const path = `${pathOf(claim)}/${claim.metadata.name}/status?dryRun=All`
    const { body } = await server.request<Status>('PUT', path, { body: object })
    // of a status that is written alone, the sentences count from the status
    const causes = body.details?.causes?.map(({ field, message }) => ({
      field,
      message: message.replace(/(: )(\S+ in body)/, '$1status.$2'),
    }))
    found.push(...differences(`status ${index}`, { ...body, details: { ...(causes && { causes }) } }, object))
  }
  assert.equal(found.join('\n'), '')
  return `${wrongObjects.length + wrongStatuses.length} objects`
}

/** One of the objects that are right. */
function example(kind: string, name: string): KubeObject {
  const object = rightObjects.find((one) => one.kind === kind && one.metadata.name === name)
  assert(object !== undefined)
  return object
}

/**
 * Every object reads in every version as it converts, and is the same once it was written there.
 */
async function converts(server: RealKubernetes, reviews: ReviewServer): Promise<string> {
  for (const object of rightObjects) {
    const model = modelOf(object)
    const created = await server.request<KubeObject>('POST', pathOf(object), { body: object })
    assert.equal(created.status, 201, JSON.stringify(created.body))
    const at = (apiVersion: string) => `${pathOf(object, apiVersion)}/${object.metadata.name}`
    const hub = model.info.apiVersion
    if (object.kind === 'IPAddressClaim') {
      const stored = await server.request<KubeObject>('GET', at(hub))
      const told = await server.request('PUT', `${at(hub)}/status`, { body: { ...stored.body, status } })
      assert.equal(told.status, 200, JSON.stringify(told.body))
    }
    const { body: before } = await server.request<KubeObject>('GET', at(hub))
    for (const { apiVersion } of model.versions) {
      const { body: stored } = await server.request<KubeObject>('GET', at(hub))
      const { body: shown } = await server.request<KubeObject>('GET', at(apiVersion))
      assert.deepEqual(withoutBook(shown), withoutBook(model.convert(stored, apiVersion)), apiVersion)
      const written = await server.request<KubeObject>('PUT', at(apiVersion), { body: shown })
      assert.equal(written.status, 200, JSON.stringify(written.body))
    }
    const { body: after } = await server.request<KubeObject>('GET', at(hub))
    assert.deepEqual({ ...after, metadata: undefined }, { ...before, metadata: undefined })
    assert.deepEqual(after.metadata.labels, before.metadata.labels)
    assert.equal(after.metadata.generation, before.metadata.generation)
  }
  return `${reviews.answered['/convert'] ?? 0} reviews`
}

/**
 * Without what the server notes of each write, and without `null`, which it keeps from a webhook
 * and drops from a client.
 */
function withoutBook(object: KubeObject): unknown {
  const {
    resourceVersion: _,
    managedFields: __,
    ...metadata
  } = object.metadata as KubeObject['metadata'] & { managedFields?: unknown }
  return JSON.parse(JSON.stringify({ ...object, metadata }, (_key, value) => value ?? undefined))
}

/** @kubernetes/client-node, as far as it is used. */
interface ClientNode {
  readonly KubeConfig: new () => ClientNodeConfig & { loadFromString(text: string): void }
  readonly Watch: new (config: ClientNodeConfig) => ClientNodeWatch
}

async function storeOf(server: RealKubernetes): Promise<Store> {
  await installClients()
  const { KubeConfig, Watch } = await importClient<ClientNode>('@kubernetes/client-node')
  const config = new KubeConfig()
  config.loadFromString(server.kubeconfig.text)
  return kubernetesStore(fromClientNode(config, new Watch(config)), { sleep })
}

async function admissions(report: Report, server: RealKubernetes, reviews: ReviewServer): Promise<void> {
  await server.apply(configurationOf(reviews))
  const group = groupOf(IPAddress.info.apiVersion)
  const claim = example('IPAddressClaim', 'in-v1beta2')
  const address = example('IPAddress', 'in-v1beta2')
  const refused = async (method: string, path: string, body: unknown, words: RegExp) => {
    const answer = await server.request<Status>(method, path, { body })
    assert.match(answer.body.message ?? '', words)
    assert.equal(answer.body.reason, 'Forbidden')
  }

  await report.test('a spec that changes is refused, in the words of Cluster API', async () => {
    const path = `${pathOf(claim)}/${claim.metadata.name}`
    const { body: stored } = await server.request<KubeObject>('GET', path)
    const poolRef = { apiGroup: group, kind: 'InClusterIPPool', name: 'red' }
    const changed = { ...stored, spec: { ...(stored.spec as object), poolRef } }
    await refused(
      'PUT',
      path,
      changed,
      /spec: Forbidden: IPAddressClaim spec is immutable\. Diff: spec\.poolRef\.name: "blue" -> "red"/,
    )
    const labelled = { ...stored, metadata: { ...stored.metadata, labels: { a: 'b' } } }
    assert.equal((await server.request('PUT', path, { body: labelled })).status, 200)
    return undefined
  })

  await report.test(
    'an address is refused that is of another pool than its claim asks, and one that is none',
    async () => {
      const poolRef = { apiGroup: group, kind: 'InClusterIPPool', name: 'red' }
      const other = {
        ...address,
        metadata: { name: 'other', namespace: 'default' },
        spec: { ...(address.spec as object), claimRef: { name: claim.metadata.name }, poolRef },
      }
      await refused('POST', pathOf(other), other, /spec\.poolRef: Invalid value: .*the referenced pool is different/)
      const none = { ...other, spec: { ...(address.spec as object), address: '10.0.0.256' } }
      await refused('POST', pathOf(none), none, /spec\.address: Invalid value: "10\.0\.0\.256": not a valid IP address/)
      return undefined
    },
  )

  await report.test('what makes no sense as a pool or a block is refused, in our words', async () => {
    const subnets = [{ cidr: '10.0.0.0/24', ranges: ['10.0.1.1'] }]
    const object = (kind: string, spec: object) => ({
      ...{ apiVersion: IpamKit.IPPool.info.apiVersion, kind, metadata: { name: 'wrong' }, spec },
    })
    const refusedAs = async (body: KubeObject, words: string) => {
      const answer = await server.request<Status>('POST', pathOf(body), { body })
      assert(answer.body.message.includes(words), answer.body.message)
      assert.equal(answer.body.reason, 'Invalid')
    }
    const isNotWithin = 'spec.subnets[0].ranges[0]: Invalid value: "10.0.1.1": is not within 10.0.0.0/24'
    await refusedAs(object('IPPool', { subnets }), isNotWithin)
    const grid = { blockPrefixLength: 8, allocationPrefixLength: 32 }
    const domain = object('IPDomain', { ipv4: grid, ipv6: grid })
    await refusedAs(domain, 'a block has 16777216 units, more than 1024')
    const place = { cidr: '10.0.0.0/24', domain: 'lab', allocationPrefixLength: 32, pool: 'blue', sequence: 0 }
    await refusedAs(object('IPBlock', place), 'metadata.name: Invalid value: "wrong": is not lab-4-0a000000-24')
    return undefined
  })

  await report.test(
    'a range for nodes is refused, in the words of upstream, where the definition takes it',
    async () => {
      const { apiVersion, kind } = NodeIpam.ClusterCIDR.info
      const nodeSelector = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'Is' }] }] }
      const spec = { perNodeHostBits: 8, ipv4: '10.1.0.0/16', nodeSelector }
      const body = { apiVersion, kind, metadata: { name: 'wrong' }, spec }
      const { body: answer } = await server.request<Status>('POST', pathOf(body), { body })
      const words = 'matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator'
      assert(answer.message.includes(words), answer.message)
      return undefined
    },
  )

  await report.test('a pool is not deleted while it has addresses in use, which the webhook finds itself', async () => {
    const poolRef = { apiGroup: group, kind: 'InClusterIPPool', name: 'in-use' }
    const metadata = { name: 'in-use', namespace: 'default' }
    const { apiVersion, kind } = InClusterIPPool.info
    const pool = { apiVersion, kind, metadata, spec: { addresses: ['10.9.0.1-10.9.0.9'], prefix: 24 } }
    const spec = { claimRef: { name: 'in-use' }, poolRef, address: '10.9.0.1', prefix: 24 }
    const held = { ...address, metadata, spec }
    for (const object of [pool, held]) {
      const answer = await server.request('POST', pathOf(object), { body: object })
      assert.equal(answer.status, 201, JSON.stringify(answer.body))
    }
    const gone = async (object: KubeObject) =>
      (await server.request<Status>('DELETE', `${pathOf(object)}/${object.metadata.name}`)).body
    assert.match((await gone(pool)).message, /Pool has IPAddresses allocated/)
    await gone(held)
    assert.notEqual((await gone(pool)).status, 'Failure')
    return undefined
  })

  await report.test('everything may be deleted', async () => {
    for (const object of rightObjects) {
      const answer = await server.request('DELETE', `${pathOf(object)}/${object.metadata.name}`)
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
    }
    return `${reviews.answered['/admit'] ?? 0} reviews`
  })
}

function configurationOf({ url, caBundle }: ReviewServer) {
  const { plural } = IPAddress.info
  const operations = ['CREATE', 'UPDATE', 'DELETE']
  const ofClusterApi = {
    apiGroups: [groupOf(IPAddress.info.apiVersion)],
    apiVersions: [versionOf(IPAddress.info.apiVersion)],
    operations,
    resources: [IPAddressClaim.info.plural, plural],
  }
  const ofPools = {
    apiGroups: [groupOf(InClusterIPPool.info.apiVersion)],
    apiVersions: [versionOf(InClusterIPPool.info.apiVersion)],
    operations,
    resources: poolModels.map(({ info }) => info.plural),
  }
  const own = {
    apiGroups: [groupOf(IpamKit.IPPool.info.apiVersion)],
    apiVersions: ['v1alpha1'],
    operations,
    resources: ['*'],
  }
  const ofNodes = {
    apiGroups: [groupOf(NodeIpam.ClusterCIDR.info.apiVersion)],
    apiVersions: ['v1'],
    operations,
    resources: ['*'],
  }
  const webhook = {
    name: 'reviews.ipam-kit.dev',
    clientConfig: { url: `${url}/admit`, caBundle },
    rules: [ofClusterApi, ofPools, own, ofNodes],
    matchPolicy: 'Equivalent',
    failurePolicy: 'Fail',
    sideEffects: 'None',
    // the most that an API server takes
    timeoutSeconds: 30,
    admissionReviewVersions: ['v1'],
  }
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'reviews.ipam-kit.dev' },
    webhooks: [webhook],
  }
}
