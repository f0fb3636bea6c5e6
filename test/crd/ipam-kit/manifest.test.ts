import { Prefix } from 'ipam-kit/cidr'
import { blockName, IPBlock, IPDomain, IPHandle, IPPool } from 'ipam-kit/crd/ipam-kit'
import { crdManifest } from 'ipam-kit/crd/manifest'
import type { CrdModel, KubeObject } from 'ipam-kit/crd/meta'
import { describe, expect, test } from 'vitest'
import { block } from './objects.js'

interface Schema {
  readonly [keyword: string]: unknown
}

const schemaOf = (model: CrdModel<KubeObject>) => crdManifest(model).spec.versions[0]?.schema.openAPIV3Schema as Schema
const propertiesOf = (schema: Schema) => schema.properties as { readonly [name: string]: Schema }
const blockSpec = propertiesOf(schemaOf(IPBlock)).spec as Schema
const rows = propertiesOf(blockSpec).rows as Schema

/** The value of a schema that JSON needs the most bytes for. */
function longest(schema: Schema): unknown {
  switch (schema.type) {
    case 'object': {
      const most = schema.maxProperties as number
      const entries = Object.entries(propertiesOf(schema) ?? {}).map(([name, inner]) => [name, longest(inner)])
      if (schema.additionalProperties === undefined) return Object.fromEntries(entries)
      const item = longest(schema.additionalProperties as Schema)
      return Object.fromEntries(Array.from({ length: most }, (_, unit) => [unit, item]))
    }
    case 'integer':
      return [schema.minimum, schema.maximum].sort((a, b) => String(b).length - String(a).length)[0]
    case 'string': {
      const words = (schema.enum as string[] | undefined) ?? ['a'.repeat(schema.maxLength as number)]
      return [...words].sort((a, b) => b.length - a.length)[0]
    }
    default:
      throw new Error(`a field of type ${String(schema.type)} has no limit here`)
  }
}

describe('the largest block', () => {
  test('has less than 1,000,000 bytes, with 20,000 more for what else is in its metadata', () => {
    const metadata = {
      name: blockName('a'.repeat(200), Prefix.parse('fd00::/118')),
      uid: 'u'.repeat(36),
      resourceVersion: '9'.repeat(20),
      generation: Number.MAX_SAFE_INTEGER,
      creationTimestamp: '2026-01-01T00:00:00Z',
      deletionTimestamp: '2026-01-01T00:00:00Z',
      finalizers: ['ipam-kit.dev/rows'],
      managedFields: 'm'.repeat(1000),
    }
    const spec = longest(blockSpec) as { readonly rows: object }
    expect(Object.keys(spec.rows)).toHaveLength(1024)
    const bytes = Buffer.byteLength(
      JSON.stringify({ apiVersion: 'ipam-kit.dev/v1alpha1', kind: 'IPBlock', metadata, spec }),
    )
    expect(bytes).toBeLessThan(980_000)
    // a limit that is missing or not looked at would make it small
    expect(bytes).toBeGreaterThan(950_000)
  })

  test('has no text in it that needs more bytes than it has characters', () => {
    const texts = Object.entries(propertiesOf(rows.additionalProperties as Schema)).filter(
      ([, { type, enum: words, format }]) => type === 'string' && words === undefined && format === undefined,
    )
    expect(texts.map(([name]) => name)).toEqual(['owner', 'uid', 'kind', 'interface', 'container', 'mac', 'pool'])
    for (const [name, { pattern, maxLength }] of texts) {
      expect(maxLength, name).toBeTypeOf('number')
      for (const character of ['é', '😀', '"', '\\', '<', '>', '&', '\n', '\u2028', '\x7f', ' ']) {
        expect(new RegExp(pattern as string, 'u').test(character), `${name} ${JSON.stringify(character)}`).toBe(false)
      }
    }
  })

  test.each(['lab/web-0', 'web-0.lab_2:3', '0A9', "x!#$%'()*+,;=?@[]^`{|}~"])('owners may be called %s', (owner) => {
    expect(IPBlock.validate(block({ rows: { 0: { owner, uid: 'u', sequence: 1 } } }))).toEqual([])
  })

  test('has rows in one piece, by the number of their unit', () => {
    expect(rows).toMatchObject({ maxProperties: 1024, 'x-kubernetes-map-type': 'atomic', default: {} })
    const [{ rule }] = rows['x-kubernetes-validations'] as [{ readonly rule: string }]
    const pattern = new RegExp(/matches\('(.+)'\)/.exec(rule)?.[1] ?? '')
    const keys = Array.from({ length: 1100 }, (_, number) => String(number))
    expect(keys.filter((key) => pattern.test(key))).toEqual(keys.slice(0, 1024))
    for (const key of ['', '00', '01', '-1', '1.5', '1e3', ' 1']) expect(pattern.test(key), key).toBe(false)
  })
})

describe('what never changes says so in the manifest', () => {
  const rulesAt = (model: CrdModel<KubeObject>, path: readonly string[]) => {
    let schema = schemaOf(model)
    for (const name of path) schema = propertiesOf(schema)[name] as Schema
    return (schema['x-kubernetes-validations'] as { readonly rule: string }[] | undefined)?.map(({ rule }) => rule)
  }

  test.each<[CrdModel<KubeObject>, string]>([
    [IPDomain, 'spec'],
    [IPPool, 'spec.domain'],
    [IPHandle, 'spec.uid'],
    [IPBlock, 'spec.cidr'],
    [IPBlock, 'spec.domain'],
    [IPBlock, 'spec.allocationPrefixLength'],
    [IPBlock, 'spec.pool'],
  ])('$info.kind %s', (model, path) => {
    expect(rulesAt(model, path.split('.'))).toEqual(['self == oldSelf'])
  })

  test('and what changes one way only', () => {
    expect(rulesAt(IPBlock, ['spec', 'sequence'])).toEqual(['self >= oldSelf'])
    expect(rulesAt(IPPool, ['spec'])).toEqual(
      ['ipv4', 'ipv6'].map((name) => `!has(oldSelf.${name}) || (has(self.${name}) && self.${name} == oldSelf.${name})`),
    )
  })

  test('and what may change has no rule', () => {
    for (const field of ['node', 'rows'])
      expect(rulesAt(IPBlock, ['spec', field])?.join() ?? '').not.toContain('oldSelf')
    expect(rulesAt(IPPool, ['spec', 'subnets'])).toBeUndefined()
  })
})

test('the kinds are of the cluster, and blocks are found by domain, node and pool', () => {
  for (const model of [IPPool, IPDomain, IPBlock, IPHandle]) expect(crdManifest(model).spec.scope).toBe('Cluster')
  const fields = ['.spec.domain', '.spec.node', '.spec.pool'].map((jsonPath) => ({ jsonPath }))
  expect(crdManifest(IPBlock).spec.versions[0]?.selectableFields).toEqual(fields)
})

test.each<[CrdModel<KubeObject>, string[]]>([
  [IPPool, ['Domain', 'Subnet', 'Free v4', 'Free v6', 'Ready', 'Age']],
  [IPBlock, ['CIDR', 'Domain', 'Pool', 'Node', 'Age']],
  [IPHandle, ['Owner', 'Age']],
  [IPDomain, ['IPv4 block', 'IPv6 block', 'Ready', 'Age']],
])('people see of $info.kind %j', (model, names) => {
  const columns = crdManifest(model).spec.versions[0]?.additionalPrinterColumns
  expect(columns?.map(({ name }) => name)).toEqual(names)
})

test('what is left out is filled in alike by the server and by the reader', () => {
  const spec = { subnets: [{ cidr: '10.0.0.0/24' }], affinity: { by: 'node' } }
  const pool = IPPool.parse({ apiVersion: IPPool.info.apiVersion, kind: 'IPPool', metadata: { name: 'a' }, spec })
  const defaults = (schema: Schema) =>
    Object.fromEntries(
      Object.entries(propertiesOf(schema)).flatMap(([name, inner]) =>
        'default' in inner ? [[name, inner.default]] : [],
      ),
    )
  const specSchema = propertiesOf(schemaOf(IPPool)).spec as Schema
  const filled = defaults(specSchema)
  expect(Object.keys(filled)).toHaveLength(6)
  expect(pool.spec).toEqual({
    ...spec,
    ...filled,
    affinity: { by: 'node', ...defaults(propertiesOf(specSchema).affinity as Schema) },
  })
})
