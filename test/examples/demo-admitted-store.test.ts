import { IpamKit, Meta, Metal3, Networking, NodeIpam, OpenStack } from 'ipam-kit/crd'
import { unwrap } from 'ipam-kit/errors'
import { reviewedKinds } from 'ipam-kit/provider/webhook'
import type { MergePatch, Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { describe, expect, test } from 'vitest'
import { AdmittedStore } from '../../docs/examples/demo/admitted-store.js'
import { STORE_IO } from '../../src/errors/definitions.js'
import { failure } from '../../src/errors/failure.js'

/** Kinds of the Kubernetes API itself are not in the demo. */
const kinds = reviewedKinds.filter(({ apiVersion }) => apiVersion !== Networking.ServiceCIDR.info.apiVersion)

/** A store in memory that asks the rules, and one behind it that does not. */
function world(store: Store = memoryStore({ now: () => 0, kinds })) {
  const warnings: string[] = []
  return { store, api: new AdmittedStore(store, (warning) => warnings.push(warning)), warnings }
}

const namespace = 'default'
const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'lab' }
const own = { apiVersion: IpamKit.IPPool.info.apiVersion }
const grid = {
  ipv4: { blockPrefixLength: 28, allocationPrefixLength: 32 },
  ipv6: { blockPrefixLength: 124, allocationPrefixLength: 128 },
}
const domain = { ...own, kind: 'IPDomain', metadata: { name: 'lab' }, spec: grid }
const ownPool = {
  ...own,
  kind: 'IPPool',
  metadata: { name: 'blue' },
  spec: { domain: 'lab', subnets: [{ cidr: '10.0.0.0/24' }] },
}
const floatingIPPoolRef = { apiGroup: 'infrastructure.cluster.x-k8s.io', kind: 'OpenStackFloatingIPPool', name: 'blue' }
const row = { owner: 'web/0', uid: 'a', sequence: 1, interface: 'eth0' }
const block = {
  ...own,
  kind: 'IPBlock',
  metadata: { name: 'lab-4-0a000000-28' },
  spec: {
    cidr: '10.0.0.0/28',
    domain: 'lab',
    pool: 'blue',
    allocationPrefixLength: 32,
    sequence: 1,
    rows: { '3': row },
  },
}
const handle = {
  ...own,
  kind: 'IPHandle',
  metadata: { name: 'uid-4f1c' },
  spec: { owner: 'web/0', uid: '4f1c', blocks: {} },
}
const metal3 = { apiVersion: Metal3.IPPool.info.apiVersion, metadata: { name: 'blue', namespace } }
const claim = {
  apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
  kind: 'IPAddressClaim',
  metadata: { name: 'web', namespace },
  spec: { poolRef },
}
const address = {
  ...claim,
  kind: 'IPAddress',
  spec: { claimRef: { name: 'web' }, poolRef, address: '10.0.0.5', prefix: 24 },
}
const pool = (kind: string, spec: object) => ({
  apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
  kind,
  metadata: { name: 'lab', ...(kind.startsWith('Global') ? {} : { namespace }) },
  spec,
})
const addressPool = { addresses: ['10.0.0.5-10.0.0.9'], prefix: 24 }
const prefixPool = { prefixes: ['fd00::/56'], allocationPrefixLength: 64 }

interface Kind {
  readonly object: Meta.KubeObject
  /** What is there before it. */
  readonly around?: readonly Meta.KubeObject[]
  /** The spec of one that is not created, and why. `undefined`: what is wrong cannot be read. */
  readonly wrong?: { readonly spec: MergePatch; readonly says: string }
  /** A change of the spec that is not made, and why. */
  readonly forbidden: { readonly spec: MergePatch; readonly says: string }
  /** A change that is. */
  readonly change: MergePatch
  /** Where a field that its definition does not have is warned of. Left out: in the spec. */
  readonly misspelt?: { readonly spec: MergePatch; readonly path: string }
  /** What it is like when nothing speaks against its deletion. */
  readonly idle?: Meta.KubeObject
  /** Objects that a deletion is refused or warned for, and in which words. */
  readonly deletion?: {
    readonly around: readonly Meta.KubeObject[]
    readonly refusal?: string
    readonly warning?: string
  }
}

const label = { metadata: { labels: { a: '1' } } }
const inUseBy = (kind: string, text: string, prefix: number) => ({
  ...address,
  spec: { ...address.spec, poolRef: { ...poolRef, kind }, address: text, prefix },
})
const REFUSED_DELETION = 'Pool has IPAddresses allocated. Cannot delete Pool until all IPAddresses have been removed.'

const KINDS: { readonly [webhook: string]: Kind } = {
  'ipaddressclaim.ipam.cluster.x-k8s.io': {
    object: claim,
    forbidden: {
      spec: { poolRef: { name: 'red' } },
      says: 'spec: Forbidden: IPAddressClaim spec is immutable. Diff: spec.poolRef.name: "lab" -> "red"',
    },
    change: label,
  },
  'ipaddress.ipam.cluster.x-k8s.io': {
    object: address,
    around: [claim],
    wrong: {
      spec: { address: '10.0.0.300' },
      says: 'spec.address: Invalid value: "10.0.0.300": not a valid IP address',
    },
    forbidden: {
      spec: { address: '10.0.0.6' },
      says: 'spec: Forbidden: IPAddress spec is immutable. Diff: spec.address: "10.0.0.5" -> "10.0.0.6"',
    },
    change: label,
  },
  ...Object.fromEntries(
    ['InClusterIPPool', 'GlobalInClusterIPPool'].map((kind): [string, Kind] => [
      `${kind.toLowerCase()}.ipam.cluster.x-k8s.io`,
      {
        object: pool(kind, addressPool),
        wrong: {
          spec: { prefix: -1 },
          says: `${kind}.ipam.cluster.x-k8s.io "lab" is invalid: spec.prefix: Invalid value: -1: a valid prefix is required`,
        },
        forbidden: {
          spec: { addresses: ['10.0.0.6'] },
          says: 'pool addresses do not contain allocated addresses: [10.0.0.5-10.0.0.5]',
        },
        change: { spec: { addresses: ['10.0.0.5'] } },
        around: [inUseBy(kind, '10.0.0.5', 24)],
        deletion: { around: [inUseBy(kind, '10.0.0.5', 24)], refusal: REFUSED_DELETION },
      },
    ]),
  ),
  ...Object.fromEntries(
    ['InClusterPrefixPool', 'GlobalInClusterPrefixPool'].map((kind): [string, Kind] => [
      `${kind.toLowerCase()}.ipam.cluster.x-k8s.io`,
      {
        object: pool(kind, prefixPool),
        wrong: {
          spec: { prefixes: [] },
          says: `${kind}.ipam.cluster.x-k8s.io "lab" is invalid: spec.prefixes: Invalid value: []string{}: prefixes is required`,
        },
        forbidden: { spec: { allocationPrefixLength: 60 }, says: 'spec.allocationPrefixLength is immutable' },
        change: { spec: { prefixes: ['fd00::/55'] } },
        deletion: { around: [inUseBy(kind, 'fd00::', 64)], refusal: REFUSED_DELETION },
      },
    ]),
  ),
  'ippool.ipam-kit.dev': {
    object: ownPool,
    around: [domain],
    wrong: {
      spec: { ipv4: { blockPrefixLength: 27 } },
      says: 'IPPool.ipam-kit.dev "blue" is invalid: spec.ipv4.blockPrefixLength: Invalid value: 27: domain "lab" has 28',
    },
    forbidden: {
      spec: { domain: 'other' },
      says: 'IPPool.ipam-kit.dev "blue" is invalid: spec.domain: Invalid value: "other": never changes',
    },
    change: { spec: { subnets: [{ cidr: '10.0.0.0/23' }] } },
    deletion: { around: [block], warning: 'deletion waits for the release of its rows: 1 (blocks: 1)' },
  },
  'ipdomain.ipam-kit.dev': {
    object: domain,
    wrong: {
      spec: { ipv4: { blockPrefixLength: 16 } },
      says: 'IPDomain.ipam-kit.dev "lab" is invalid: spec.ipv4: Invalid value: {"blockPrefixLength":16,"allocationPrefixLength":32}: a block has 65536 units, more than 1024',
    },
    forbidden: {
      spec: { ipv4: { blockPrefixLength: 27 } },
      says: expect.stringMatching(/^IPDomain\.ipam-kit\.dev "lab" is invalid: spec: Invalid value: .*: never changes$/),
    },
    change: label,
    deletion: { around: [block], warning: 'deletion waits for the release of its rows: 1 (blocks: 1)' },
  },
  'ipblock.ipam-kit.dev': {
    object: block,
    around: [domain],
    wrong: {
      spec: { sequence: 0 },
      says: 'IPBlock.ipam-kit.dev "lab-4-0a000000-28" is invalid: spec.rows.3.sequence: Invalid value: 1: is above spec.sequence',
    },
    forbidden: {
      spec: { rows: { '3': { owner: 'web/1' } } },
      says: 'IPBlock.ipam-kit.dev "lab-4-0a000000-28" is invalid: spec.rows.3.owner: Invalid value: "web/1": web/0 has the unit, and has not released it',
    },
    change: { spec: { sequence: 2, rows: { '4': { ...row, uid: 'b', sequence: 2 } } } },
    idle: { ...block, spec: { ...block.spec, rows: {} } },
    deletion: { around: [], warning: 'deletion waits for the release of its rows: 1' },
  },
  'iphandle.ipam-kit.dev': {
    object: handle,
    wrong: {
      spec: { uid: '4f1d' },
      says: 'IPHandle.ipam-kit.dev "uid-4f1c" is invalid: metadata.name: Invalid value: "uid-4f1c": is not uid-4f1d',
    },
    forbidden: {
      spec: { owner: 'web/1' },
      says: 'IPHandle.ipam-kit.dev "uid-4f1c" is invalid: spec.owner: Invalid value: "web/1": never changes',
    },
    change: { spec: { blocks: { eth0: ['lab-4-0a000000-28'] } } },
  },
  'clusternetwork.ipam-kit.dev': {
    object: { ...own, kind: 'ClusterNetwork', metadata: { name: 'pods' }, spec: {} } as Meta.KubeObject,
    wrong: {
      spec: { consumers: [{ name: 'flannel' }, { name: 'flannel' }] },
      says: 'ClusterNetwork.ipam-kit.dev "pods" is invalid: spec.consumers[1]: Duplicate value: {"name":"flannel"}',
    },
    forbidden: {
      spec: { acceptanceSeconds: 0 },
      says: 'ClusterNetwork.ipam-kit.dev "pods" is invalid: spec.acceptanceSeconds: Invalid value: 0: spec.acceptanceSeconds in body should be greater than or equal to 1',
    },
    change: { spec: { consumers: [{ name: 'flannel' }], acceptanceSeconds: 60 } },
  },
  'clustercidr.networking.x-k8s.io': {
    object: {
      ...{ apiVersion: NodeIpam.ClusterCIDR.info.apiVersion, kind: 'ClusterCIDR', metadata: { name: 'rack-1' } },
      spec: { perNodeHostBits: 8, ipv4: '10.1.0.0/16' },
    } as Meta.KubeObject,
    wrong: {
      spec: { perNodeHostBits: 17 },
      says: 'ClusterCIDR.networking.x-k8s.io "rack-1" is invalid: spec.perNodeHostBits: Invalid value: 17: must be less than or equal to 16',
    },
    forbidden: {
      spec: { ipv6: 'fd00::/64' },
      says: 'ClusterCIDR.networking.x-k8s.io "rack-1" is invalid: spec.ipv6: Invalid value: "fd00::/64": field is immutable',
    },
    change: label,
  },
  'openstackfloatingippool.infrastructure.cluster.x-k8s.io': {
    object: openStack('OpenStackFloatingIPPool', OpenStack.OpenStackServer.info.apiVersion, {
      ...{ reclaimPolicy: 'Delete', identityRef: { name: 'cloud', cloudName: 'openstack' } },
    }),
    wrong: {
      spec: { maxIPs: -1 },
      says: 'OpenStackFloatingIPPool.infrastructure.cluster.x-k8s.io "blue" is invalid: spec.maxIPs: Invalid value: -1: must be a whole number, 0 or more',
    },
    forbidden: {
      spec: { identityRef: { region: 'north' } },
      says: expect.stringMatching(/: spec\.identityRef: Invalid value: .*: region is immutable$/),
    },
    change: { spec: { maxIPs: 5 } },
  },
  'openstackserver.infrastructure.cluster.x-k8s.io': {
    misspelt: { spec: { floatingIPPoolRef: { misspelt: 1 } }, path: 'spec.floatingIPPoolRef.misspelt' },
    object: openStack('OpenStackServer', OpenStack.OpenStackServer.info.apiVersion, { floatingIPPoolRef }),
    wrong: { spec: { floatingIPPoolRef: { apiGroup: '' } }, says: noGroup('OpenStackServer', 'spec') },
    forbidden: {
      spec: { flavor: 'small' },
      says: 'OpenStackServer.infrastructure.cluster.x-k8s.io "blue" is invalid: spec: Forbidden: OpenStackServer spec field is immutable. Please create a new resource instead.',
    },
    change: { spec: { identityRef: { name: 'cloud', cloudName: 'openstack' } } },
  },
  'openstackmachine.infrastructure.cluster.x-k8s.io': {
    misspelt: { spec: { floatingIPPoolRef: { misspelt: 1 } }, path: 'spec.floatingIPPoolRef.misspelt' },
    object: openStack('OpenStackMachine', OpenStack.OpenStackMachine.info.apiVersion, { floatingIPPoolRef }),
    wrong: { spec: { floatingIPPoolRef: { apiGroup: '' } }, says: noGroup('OpenStackMachine', 'spec') },
    forbidden: {
      spec: { flavor: 'small' },
      says: 'OpenStackMachine.infrastructure.cluster.x-k8s.io "blue" is invalid: spec: Forbidden: cannot be modified',
    },
    change: { spec: { providerID: 'openstack:///a' } },
  },
  'openstackmachinetemplate.infrastructure.cluster.x-k8s.io': {
    object: openStack('OpenStackMachineTemplate', OpenStack.OpenStackMachine.info.apiVersion, {
      template: { spec: { floatingIPPoolRef } },
    }),
    wrong: {
      spec: { template: { spec: { floatingIPPoolRef: { apiGroup: '' } } } },
      says: noGroup('OpenStackMachineTemplate', 'spec.template.spec'),
    },
    forbidden: {
      spec: { template: { spec: { flavor: 'small' } } },
      says: expect.stringContaining('OpenStackMachineTemplate spec.template.spec field is immutable. '),
    },
    change: label,
  },
  'ippool.ipam.metal3.io': {
    object: {
      ...metal3,
      kind: 'IPPool',
      spec: { namePrefix: 'blue', pools: [{ start: '10.0.0.1', end: '10.0.0.9' }] },
    } as Meta.KubeObject,
    wrong: {
      spec: { gateway: 'x' },
      says: 'IPPool.ipam.metal3.io "blue" is invalid: spec.gateway: Invalid value: "x": is not a valid IP address',
    },
    forbidden: {
      spec: { namePrefix: 'red' },
      says: 'IPPool.ipam.metal3.io "blue" is invalid: spec.namePrefix: Invalid value: "red": cannot be modified',
    },
    change: { spec: { pools: [{ start: '10.0.0.1', end: '10.0.0.20' }] } },
  },
  'ipclaim.ipam.metal3.io': {
    object: { ...metal3, kind: 'IPClaim', spec: { pool: { name: 'blue' } } } as Meta.KubeObject,
    wrong: {
      spec: { pool: { name: '' } },
      says: 'IPClaim.ipam.metal3.io "blue" is invalid: spec.pool.name: Invalid value: "": cannot be empty',
    },
    forbidden: {
      spec: { pool: { name: 'red' } },
      says: expect.stringMatching(
        /^IPClaim\.ipam\.metal3\.io "blue" is invalid: spec: Invalid value: .*: cannot be modified$/,
      ),
    },
    change: label,
  },
  'ipaddress.ipam.metal3.io': {
    object: {
      ...metal3,
      kind: 'IPAddress',
      spec: { pool: { name: 'blue' }, claim: { name: 'blue' }, address: '10.0.0.5' },
    } as Meta.KubeObject,
    wrong: {
      spec: { address: '10.0.0.300' },
      says: 'IPAddress.ipam.metal3.io "blue" is invalid: spec.address: Invalid value: "10.0.0.300": is not a valid IP address',
    },
    forbidden: {
      spec: { address: '10.0.0.6' },
      says: 'IPAddress.ipam.metal3.io "blue" is invalid: spec.address: Invalid value: "10.0.0.6": cannot be modified',
    },
    change: label,
  },
}

function openStack(kind: string, apiVersion: string, spec: object): Meta.KubeObject {
  return { apiVersion, kind, metadata: { name: 'blue', namespace }, spec }
}

function noGroup(kind: string, path: string): string {
  return `${kind}.infrastructure.cluster.x-k8s.io "blue" is invalid: ${path}.floatingIPPoolRef.apiGroup: Required value: a claim names the API group of its pool`
}

/** As RFC 7396 for these objects, which have no `null`. */
function merged<T>(target: T, patch: unknown): T {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch as T
  const entries = Object.entries(patch).map(([key, value]) => [key, merged((target as MergePatch)?.[key], value)])
  return { ...target, ...Object.fromEntries(entries) }
}

const refOf = ({ apiVersion, kind, metadata: { name, namespace } }: Meta.KubeObject) => ({
  apiVersion,
  kind,
  name,
  namespace,
})
const denied = (webhook: string, says: unknown) => ({
  ok: false,
  failure: {
    code: 'STORE_INVALID',
    context: {
      path: 'object',
      problem:
        typeof says === 'string'
          ? `admission webhook "validation.${webhook}" denied the request: ${says}`
          : expect.stringContaining(`admission webhook "validation.${webhook}" denied the request: `),
    },
  },
})

test('each kind that has a rule is tried', () => {
  expect(
    Object.keys(KINDS)
      .map((name) => `validation.${name}`)
      .sort(),
  ).toEqual(kinds.map(({ apiVersion, kind }) => `validation.${kind.toLowerCase()}.${Meta.groupOf(apiVersion)}`).sort())
})

describe.each(Object.entries(KINDS))('%s', (webhook, kind) => {
  const { object, around = [], wrong, forbidden, change, deletion } = kind
  const { misspelt = { spec: { misspelt: 1 }, path: 'spec.misspelt' } } = kind

  async function given(...objects: readonly Meta.KubeObject[]) {
    const { store, ...rest } = world()
    for (const each of [...around, ...objects]) unwrap(await store.create(each))
    return { store, ...rest }
  }

  if (wrong !== undefined) {
    test('a wrong one is not created', async () => {
      const { api, store, warnings } = await given()
      const created = await api.create(merged(object, { spec: wrong.spec }))
      expect(created).toMatchObject(denied(webhook, wrong.says))
      expect(await store.get(refOf(object))).toMatchObject({ ok: false })
      expect(warnings).toEqual([])
    })
  }

  test('one that is read with a misspelt field is created, with a warning', async () => {
    const { api, warnings } = await given()
    unwrap(await api.create(merged(object, { spec: misspelt.spec })))
    expect(warnings).toEqual([`unknown field "${misspelt.path}"`])
  })

  test('a forbidden change is not made, by an update and by a patch', async () => {
    const { api, store } = await given(object)
    const before = unwrap(await store.get(refOf(object)))
    const patch = { spec: forbidden.spec }
    const answers = [await api.update(merged(before, patch)), await api.patch(refOf(object), patch)]
    for (const answer of answers) expect(answer).toMatchObject(denied(webhook, forbidden.says))
    if (typeof forbidden.says !== 'string') {
      for (const answer of answers) {
        expect(
          !answer.ok && 'problem' in answer.failure.context && answer.failure.context.problem.split('request: ')[1],
        ).toEqual(forbidden.says)
      }
    }
    expect(unwrap(await store.get(refOf(object)))).toEqual(before)
  })

  test('another change is made, and a misspelt field is warned of', async () => {
    const { api, store, warnings } = await given(object)
    const before = unwrap(await store.get(refOf(object)))
    const after = unwrap(await api.update(merged(before, change)))
    expect(after).toMatchObject(change)
    unwrap(await api.patch(refOf(object), { metadata: { labels: { b: '2' } } }))
    expect(warnings).toEqual([])
    unwrap(await api.patch(refOf(object), { metadata: { misspelt: 1 } }))
    expect(warnings).toEqual(['unknown field "metadata.misspelt"'])
  })

  if (
    kinds.some((info) => info.kind === object.kind && info.apiVersion === object.apiVersion && info.statusSubresource)
  ) {
    test('its status is not asked about', async () => {
      const { api, warnings } = await given(merged(object, { spec: misspelt.spec }))
      unwrap(await api.patch(refOf(object), { status: {} }, { subresource: 'status' }))
      expect(warnings).toEqual([])
      unwrap(await api.patch(refOf(object), label))
      expect(warnings).toEqual([`unknown field "${misspelt.path}"`])
    })
  }

  test('it is deleted where nothing speaks against it', async () => {
    const { store, api, warnings } = world()
    unwrap(await store.create(kind.idle ?? object))
    unwrap(await api.delete(refOf(object)))
    expect(await store.get(refOf(object))).toMatchObject({ ok: false })
    expect(warnings).toEqual([])
  })

  if (deletion !== undefined) {
    test('what speaks against a deletion is said', async () => {
      const { store, api, warnings } = world()
      for (const each of [object, ...deletion.around]) unwrap(await store.create(each))
      const deleted = await api.delete(refOf(object))
      if (deletion.refusal !== undefined) expect(deleted).toMatchObject(denied(webhook, deletion.refusal))
      else unwrap(deleted)
      expect(warnings).toEqual(deletion.warning === undefined ? [] : [deletion.warning])
    })
  }
})

describe('a store that asks the rules', () => {
  test('leaves other kinds and objects that are not there to the store', async () => {
    const { api } = world()
    const other = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace } }
    unwrap(await api.create(other))
    unwrap(await api.patch(refOf(other), [{ op: 'add', path: '/data', value: {} }]))
    unwrap(await api.delete(refOf(other)))
    const gone = { ok: false, failure: { code: 'STORE_NOT_FOUND' } }
    expect(await api.update(merged(claim, { metadata: { resourceVersion: '7' } }))).toMatchObject(gone)
    expect(await api.patch(refOf(claim), label)).toMatchObject(gone)
    expect(await api.delete(refOf(claim))).toMatchObject(gone)
  })

  test('refuses what it cannot ask about', async () => {
    const { api, store } = world()
    unwrap(await store.create(claim))
    const operations = [{ op: 'replace', path: '/spec/poolRef/name', value: 'red' }] as const
    expect(await api.patch(refOf(claim), operations)).toMatchObject({ ok: false, failure: { code: 'STORE_INVALID' } })
  })

  test('asks nothing of a patch that only tests fields', async () => {
    const { api } = world()
    const { metadata } = unwrap(await api.create(claim))
    const test = (value: string) => [{ op: 'test', path: '/metadata/uid', value }] as const
    expect(await api.patch(refOf(claim), test(`${metadata.uid}`))).toMatchObject({ ok: true, value: { metadata } })
    expect(await api.patch(refOf(claim), test('another'))).toMatchObject({
      ok: false,
      failure: { code: 'STORE_INVALID' },
    })
  })

  test('takes an update of a stored object that cannot be read for a creation, and lets it be deleted', async () => {
    const { api, store } = world()
    const whole = { ...metal3, kind: 'IPClaim', spec: { pool: { name: 'blue' } } }
    const broken = { ...whole, spec: { pool: 5 } }
    unwrap(await store.create(broken))
    const stored = unwrap(await store.get(refOf(whole)))
    expect(await api.update({ ...stored, ...whole, metadata: stored.metadata })).toMatchObject({ ok: true })
    unwrap(await store.update({ ...unwrap(await store.get(refOf(whole))), spec: broken.spec } as Meta.KubeObject))
    unwrap(await api.delete(refOf(whole)))
  })

  /** Another writer changes the object each time between the question and the write, so often. */
  function overtaken(times: number) {
    const store = memoryStore({ now: () => 0, kinds })
    let left = times
    const patch: Store['patch'] = async (ref, change, options) => {
      if (left-- > 0) unwrap(await store.patch(ref, { metadata: { annotations: { n: `${left}` } } }))
      return store.patch(ref, change, options)
    }
    return { ...world({ ...methodsOf(store), patch }), store }
  }

  function methodsOf(store: Store): Store {
    const { capabilities } = store
    return {
      capabilities,
      get: (ref) => store.get(ref),
      list: (query, options) => store.list(query, options),
      create: (object) => store.create(object),
      update: (object, options) => store.update(object, options),
      patch: (ref, patch, options) => store.patch(ref, patch, options),
      delete: (ref, options) => store.delete(ref, options),
      watch: (query, options) => store.watch(query, options),
    }
  }

  test('asks again about a patch that another writer has overtaken', async () => {
    const { api, store } = overtaken(2)
    unwrap(await store.create(claim))
    expect(unwrap(await api.patch(refOf(claim), label)).metadata).toMatchObject({
      labels: { a: '1' },
      annotations: { n: '0' },
    })
  })

  test('does not do so without end, nor for a patch of one version', async () => {
    const conflict = { ok: false, failure: { code: 'STORE_CONFLICT' } }
    const busy = overtaken(100)
    unwrap(await busy.store.create(claim))
    expect(await busy.api.patch(refOf(claim), label)).toMatchObject(conflict)
    const { api, store } = overtaken(1)
    const { resourceVersion } = unwrap(await store.create(claim)).metadata
    expect(await api.patch(refOf(claim), label, { resourceVersion })).toMatchObject(conflict)
    expect(await api.patch(refOf(claim), label, { resourceVersion })).toMatchObject(conflict)
  })

  test('writes nothing while the store cannot say what a rule needs to know', async () => {
    const store = memoryStore({ now: () => 0, kinds })
    const away = {
      ok: false,
      failure: failure(STORE_IO, { operation: 'get', problem: 'connection refused' }),
    } as const
    const { api } = world({ ...methodsOf(store), get: async () => away, list: async () => away })
    const inUse = pool('InClusterIPPool', addressPool)
    for (const each of [claim, inUse]) unwrap(await store.create(each))
    // in the words of Cluster API
    expect(await api.create(address)).toMatchObject(
      denied(
        'ipaddress.ipam.cluster.x-k8s.io',
        'spec.claimRef: Internal error: failed to fetch claim: get failed: connection refused',
      ),
    )
    expect(await api.update(claim)).toMatchObject(away)
    expect(await api.patch(refOf(claim), label)).toMatchObject(away)
    expect(await api.delete(refOf(inUse))).toMatchObject(away)
    const blind = world({ ...methodsOf(store), list: async () => away })
    expect(await blind.api.delete(refOf(inUse))).toMatchObject({
      ok: false,
      failure: { code: 'STORE_IO', context: { operation: 'admission' } },
    })
    expect(unwrap(await store.list({ apiVersion: address.apiVersion, kind: 'IPAddress' })).items).toEqual([])
    expect((await store.get(refOf(inUse))).ok).toBe(true)
  })
})
