import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterPrefixPool } from 'ipam-kit/crd/in-cluster'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { describe, expect, test } from 'vitest'
import { schemasOf } from './schemas.js'

describe('a manifest', () => {
  test('has no conversion unless there is a webhook for it', () => {
    expect(crdManifest(IPAddressClaim).spec).not.toHaveProperty('conversion')
    const service = { namespace: 'ipam', name: 'webhook', path: '/convert' }
    expect(crdManifest(IPAddressClaim, { conversion: { service, caBundle: 'TUlJ' } }).spec.conversion).toEqual({
      strategy: 'Webhook',
      webhook: { conversionReviewVersions: ['v1'], clientConfig: { service, caBundle: 'TUlJ' } },
    })
  })

  test('has the labels of its kind and those that are asked for', () => {
    const { metadata } = crdManifest(InClusterPrefixPool, { labels: { a: 'b' }, annotations: { c: 'd' } })
    expect(metadata).toEqual({
      name: 'inclusterprefixpools.ipam.cluster.x-k8s.io',
      labels: { 'clusterctl.cluster.x-k8s.io/move-hierarchy': '', a: 'b' },
      annotations: { c: 'd' },
    })
    expect(crdManifest(IPAddressClaim).metadata).toEqual({ name: 'ipaddressclaims.ipam.cluster.x-k8s.io' })
  })

  test('has a default for what is left out', () => {
    const [version] = crdManifest(InClusterPrefixPool).spec.versions
    const spec = version?.schema.openAPIV3Schema.properties?.spec
    expect(spec?.properties?.allocationPrefixLength).toMatchObject({ type: 'integer', default: 64 })
    expect(spec?.required).toEqual(['prefixes'])
  })

  test('names fields that can be selected, where a kind has some', () => {
    const selecting = { ...IPAddressClaim, info: { ...IPAddressClaim.info, selectableFields: ['spec.poolRef.name'] } }
    for (const version of crdManifest(selecting).spec.versions) {
      expect(version.selectableFields).toEqual([{ jsonPath: '.spec.poolRef.name' }])
    }
    for (const version of crdManifest(IPAddressClaim).spec.versions)
      expect(version).not.toHaveProperty('selectableFields')
  })

  test('is plain JSON, made anew each time', () => {
    const manifest = crdManifest(IPAddressClaim)
    expect(JSON.parse(JSON.stringify(manifest))).toEqual(manifest)
    expect(crdManifest(IPAddressClaim)).toEqual(manifest)
  })
})

describe('the schemas of', () => {
  test.each(schemasOf())('$name are structural, and describe every field', ({ schema }) => {
    const problems: string[] = []
    expect(schema.properties?.metadata).toEqual({ type: 'object' })
    const { metadata: _, ...properties } = schema.properties ?? {}
    visit('', { ...schema, properties }, problems)
    expect(problems).toEqual([])
  })
})

/** What an API server refuses in a schema, and fields that nobody describes. */
function visit(path: string, schema: { readonly [keyword: string]: unknown }, problems: string[]): void {
  const known = ['object', 'array', 'string', 'integer', 'number', 'boolean']
  if (!known.includes(String(schema.type))) problems.push(`${path}: type ${String(schema.type)}`)
  for (const word of ['$ref', '$schema', '$defs', 'anyOf', 'oneOf', 'allOf', 'const', 'propertyNames', 'id']) {
    if (word in schema) problems.push(`${path}: ${word}`)
  }
  if (typeof schema.description !== 'string' || !/^[A-Z].*\.$/s.test(schema.description)) {
    problems.push(`${path}: described as ${String(schema.description)}`)
  }
  const nested: readonly [string, unknown][] = [
    ...Object.entries((schema.properties ?? {}) as object),
    ...['items', 'additionalProperties'].flatMap((word) =>
      word in schema ? [[word, schema[word]] as [string, unknown]] : [],
    ),
  ]
  for (const [name, inner] of nested)
    visit(`${path}.${name}`, inner as { readonly [keyword: string]: unknown }, problems)
}
