import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import {
  GlobalInClusterIPPool,
  GlobalInClusterPrefixPool,
  InClusterIPPool,
  type InClusterPool,
  InClusterPrefixPool,
  withPoolConditions,
} from 'ipam-kit/crd/in-cluster'
import { IPAMClaim } from 'ipam-kit/crd/ipamclaims'
import { crdManifest } from 'ipam-kit/crd/manifest'
import type { CrdModel, KubeObject } from 'ipam-kit/crd/meta'
import { IPClaim, IPPool, IPAddress as Metal3IPAddress } from 'ipam-kit/crd/metal3'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import * as Whereabouts from 'ipam-kit/crd/whereabouts'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'

// Our definitions beside those of the projects, field by field. Descriptions are ours, and the
// annotation of the generator is theirs. Every other difference stands here, with its reason; one
// that is not there any more has to go from the list.

interface Difference {
  readonly path: string
  readonly ours?: unknown
  readonly theirs?: unknown
  readonly reason: string
}

const upstream = fileURLToPath(new URL('../../../../shared/upstream-crds/', import.meta.url))

const moves: Difference = {
  path: 'metadata.labels',
  ours: { 'clusterctl.cluster.x-k8s.io/move-hierarchy': '' },
  reason: 'their build adds it to the file: without it clusterctl leaves pools behind',
}
const gracePeriod: Difference = {
  path: 'spec.versions.v1alpha2.schema.openAPIV3Schema.properties.spec.properties.addressReuseGracePeriodSeconds',
  ours: { type: 'integer', format: 'int32', minimum: 0 },
  reason: 'our provider can hold a prefix after its claim has gone, as it holds an address; theirs has addresses only',
}

const kinds: readonly {
  readonly model: CrdModel<KubeObject>
  readonly file: string
  readonly differences: readonly Difference[]
}[] = [
  { model: IPAddressClaim, file: 'cluster-api/ipam.cluster.x-k8s.io_ipaddressclaims.yaml', differences: [] },
  { model: IPAddress, file: 'cluster-api/ipam.cluster.x-k8s.io_ipaddresses.yaml', differences: [] },
  { model: InClusterIPPool, file: `${inCluster('inclusterippools')}`, differences: [moves] },
  { model: GlobalInClusterIPPool, file: inCluster('globalinclusterippools'), differences: [moves] },
  { model: InClusterPrefixPool, file: inCluster('inclusterprefixpools'), differences: [moves, gracePeriod] },
  {
    model: GlobalInClusterPrefixPool,
    file: inCluster('globalinclusterprefixpools'),
    differences: [moves, gracePeriod],
  },
  { model: IPPool, file: metal3('ippools'), differences: [] },
  { model: IPClaim, file: metal3('ipclaims'), differences: [] },
  { model: Metal3IPAddress, file: metal3('ipaddresses'), differences: [] },
  {
    model: ClusterCIDR,
    file: 'node-ipam-controller/networking.x-k8s.io_clustercidrs.yaml',
    differences: clusterCIDRDifferences(),
  },
  {
    model: OpenStackFloatingIPPool,
    file: 'cluster-api-provider-openstack/infrastructure.cluster.x-k8s.io_openstackfloatingippools.yaml',
    differences: [
      {
        path: 'spec.versions.v1alpha1.additionalPrinterColumns',
        ours: [
          { name: 'Max', type: 'integer', jsonPath: '.spec.maxIPs' },
          { name: 'Policy', type: 'string', jsonPath: '.spec.reclaimPolicy' },
          { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        ],
        reason: 'theirs has none',
      },
    ],
  },
  {
    model: NetworkAttachmentDefinition,
    file: 'network-attachment-definition-client/networks-crd.yaml',
    differences: networkDifferences(),
  },
  {
    model: IPAMClaim,
    file: 'ipamclaims/k8s.cni.cncf.io_ipamclaims.v0.5.1-alpha.yaml',
    differences: [],
  },
  { model: Whereabouts.IPPool, file: whereabouts('ippools'), differences: plainDifferences('v1alpha1') },
  {
    model: Whereabouts.OverlappingRangeIPReservation,
    file: whereabouts('overlappingrangeipreservations'),
    differences: plainDifferences('v1alpha1'),
  },
  { model: Whereabouts.NodeSlicePool, file: whereabouts('nodeslicepools'), differences: plainDifferences('v1alpha1') },
]

/** Theirs leaves the member out when it has no subresources. */
function plainDifferences(version: string): readonly Difference[] {
  const reason = 'the same as none'
  return [{ path: `spec.versions.${version}.subresources`, ours: {}, reason }]
}

/**
 * Theirs accepts changes and sizes that their allocator cannot follow, and objects without a spec.
 */
function clusterCIDRDifferences(): readonly Difference[] {
  const version = 'spec.versions.v1'
  const root = `${version}.schema.openAPIV3Schema`
  const column = (name: string, path: string, type = 'string') => ({ name, type, jsonPath: path })
  const fits = (family: 4 | 6, bits: number) => ({
    fieldPath: '.perNodeHostBits',
    message: `PerNodeHostBits must be less than or equal to the host bits of ipv${family}.`,
    rule: `!has(self.ipv${family}) || !isCIDR(self.ipv${family}) || self.perNodeHostBits <= ${bits} - cidr(self.ipv${family}).prefixLength()`,
  })
  const keeps = (family: 4 | 6) => ({
    fieldPath: `.ipv${family}`,
    message: `IPv${family} cannot be changed.`,
    rule: `(has(self.ipv${family}) && self.ipv${family} != '') == (has(oldSelf.ipv${family}) && oldSelf.ipv${family} != '')`,
  })
  const message = 'A CIDR must be specified for ipv4 or ipv6.'
  const ours = [
    { message, rule: "(has(self.ipv4) && self.ipv4 != '') || (has(self.ipv6) && self.ipv6 != '')" },
    fits(4, 32),
    fits(6, 128),
    {
      fieldPath: '.nodeSelector',
      message: 'NodeSelector cannot be changed.',
      rule: 'has(self.nodeSelector) == has(oldSelf.nodeSelector)',
    },
    keeps(4),
    keeps(6),
  ]
  return [
    {
      path: `${version}.additionalPrinterColumns`,
      ours: [
        column('IPv4', '.spec.ipv4'),
        column('IPv6', '.spec.ipv6'),
        column('Host bits', '.spec.perNodeHostBits', 'integer'),
        column('Age', '.metadata.creationTimestamp', 'date'),
      ],
      reason: 'theirs has none',
    },
    {
      path: `${root}.properties.spec.properties.perNodeHostBits.minimum`,
      ours: 4,
      reason: 'the least that their own rules in Go accept',
    },
    {
      path: `${root}.properties.spec.x-kubernetes-validations`,
      ours,
      theirs: [{ message, rule: 'self.ipv4 != "" || self.ipv6 != ""' }],
      reason: 'theirs fails on a field that is left out, and does not see a field that is added or removed',
    },
    { path: `${root}.required`, ours: ['spec'], reason: 'theirs accepts an object without a spec' },
    { path: `${version}.subresources`, ours: {}, reason: 'the same as none' },
  ]
}

/** Theirs leaves out what an API server fills in. */
function networkDifferences(): readonly Difference[] {
  const reason = 'the same as none'
  const properties = 'spec.versions.v1.schema.openAPIV3Schema.properties'
  return [
    { path: 'spec.names.listKind', ours: 'NetworkAttachmentDefinitionList', reason },
    { path: `${properties}.apiVersion`, ours: { type: 'string' }, reason },
    { path: `${properties}.kind`, ours: { type: 'string' }, reason },
    { path: `${properties}.metadata`, ours: { type: 'object' }, reason },
    ...plainDifferences('v1'),
  ]
}

/** What the conditions add to a version of a definition, and where. */
function conditionsIn(version: string): readonly Difference[] {
  const path = `spec.versions.${version}`
  const reason = 'their pools have no conditions, and an API server would drop ours'
  const claims = crdManifest(IPAddressClaim).spec.versions.find(({ name }) => name === 'v1beta2')!
  const { description: _, ...conditions } = comparableSchema(
    claims.schema.openAPIV3Schema.properties?.status?.properties?.conditions,
  )
  return [{ path: `${path}.schema.openAPIV3Schema.properties.status.properties.conditions`, ours: conditions, reason }]
}

const withConditions = [InClusterIPPool, GlobalInClusterIPPool, InClusterPrefixPool, GlobalInClusterPrefixPool] as const

function metal3(plural: string): string {
  return `metal3-ip-address-manager/ipam.metal3.io_${plural}.yaml`
}

function whereabouts(plural: string): string {
  return `whereabouts/whereabouts.cni.cncf.io_${plural}.yaml`
}

function inCluster(plural: string): string {
  return `cluster-api-ipam-provider-in-cluster/ipam.cluster.x-k8s.io_${plural}.yaml`
}

// without the files of the projects beside the repository there is nothing to compare with
describe.skipIf(!existsSync(upstream))('the manifest is that of the project, but for what is listed', () => {
  test.each(kinds)('$file', ({ model, file, differences }) => {
    const ours = comparable(crdManifest(model))
    const theirs = comparable(parse(readFileSync(upstream + file, 'utf8')))
    const listed = differences.map(({ reason: _, ...difference }) => difference)
    expect(differencesOf('', ours, theirs)).toEqual(listed)
  })
})

describe('with conditions, the manifest of', () => {
  test.each(withConditions.map((model) => [model.info.kind, model] as const))(
    '%s differs by them alone',
    (_, model) => {
      const plain = comparable(crdManifest(model))
      const ours = comparable(crdManifest(withPoolConditions(model as CrdModel<InClusterPool>)))
      const versions = model.versions.map(({ apiVersion }) => apiVersion.split('/')[1]!)
      const columns = versions.map((version) => `spec.versions.${version}.additionalPrinterColumns`)
      const found = differencesOf('', ours, plain)
      expect(found.filter(({ path }) => !columns.includes(path))).toEqual(
        versions.flatMap(conditionsIn).map(({ reason: _, ...difference }) => difference),
      )
      for (const { path, ours: more, theirs } of found.filter(({ path }) => columns.includes(path))) {
        const jsonPath = '.status.conditions[?(@.type=="Ready")].status'
        expect([path, more]).toEqual([path, [...(theirs as unknown[]), { name: 'Ready', type: 'string', jsonPath }]])
      }
      expect(found).toHaveLength(2 * versions.length)
    },
  )

  test('a pool keeps them when it is converted, and an API server takes what the provider writes', () => {
    const model = withPoolConditions(InClusterIPPool)
    const conditions = [
      { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z', reason: 'Ready', message: '' },
    ]
    const pool = {
      apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
      kind: 'InClusterIPPool',
      metadata: { name: 'p', namespace: 'default' },
      spec: { addresses: ['10.0.0.5'], prefix: 24 },
      status: { conditions },
    }
    expect(model.validate(pool)).toEqual([])
    const old = model.convert(pool, 'ipam.cluster.x-k8s.io/v1alpha1')
    expect(old.status).toEqual({ conditions })
    expect(model.parse(old).status).toEqual({ conditions })
    const wrong = { ...pool, status: { conditions: [{ ...conditions[0], reason: '' }] } }
    expect(model.validate(wrong)).not.toEqual([])
    expect(InClusterIPPool.validate(wrong)).toEqual([])
  })
})

test('the comparison sees what differs', () => {
  const left = { a: 1, b: { c: [1, 2] }, same: [1] }
  const right = { a: 2, b: { d: 0 }, same: [1] }
  expect(differencesOf('', left, right)).toEqual([
    { path: 'a', ours: 1, theirs: 2 },
    { path: 'b.c', ours: [1, 2] },
    { path: 'b.d', theirs: 0 },
  ])
})

function comparableSchema(schema: unknown): { readonly [keyword: string]: unknown } {
  return JSON.parse(
    JSON.stringify(schema, (key, value) => (key === 'description' && typeof value === 'string' ? undefined : value)),
  )
}

/**
 * A definition without descriptions and the generator's annotation, with its versions by name, and
 * lists that are sets in order.
 */
function comparable(definition: object): object {
  const { metadata, spec, ...rest } = JSON.parse(
    JSON.stringify(definition, (key, value) =>
      key === 'description' && typeof value === 'string' ? undefined : value,
    ),
  )
  const { 'controller-gen.kubebuilder.io/version': _, ...annotations } = metadata.annotations ?? {}
  const { annotations: __, ...others } = metadata
  const versions = Object.fromEntries(spec.versions.map((version: { name: string }) => [version.name, version]))
  return {
    ...rest,
    metadata: Object.keys(annotations).length === 0 ? others : { ...others, annotations },
    spec: { ...spec, versions },
  }
}

function differencesOf(path: string, ours: unknown, theirs: unknown): Omit<Difference, 'reason'>[] {
  if (isObject(ours) && isObject(theirs)) {
    return [...new Set([...Object.keys(ours), ...Object.keys(theirs)])]
      .sort()
      .flatMap((key) => differencesOf(path === '' ? key : `${path}.${key}`, ours[key], theirs[key]))
  }
  if (isDeepStrictEqual(ours, theirs)) return []
  return [{ path, ...(ours === undefined ? {} : { ours }), ...(theirs === undefined ? {} : { theirs }) }]
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
