import { IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterPrefixPool } from 'ipam-kit/crd/in-cluster'
import { defineCrdModel, type KubeObject } from 'ipam-kit/crd/meta'
import { IPPool } from 'ipam-kit/crd/metal3'
import { expect, test } from 'vitest'
import * as z from 'zod'
import type { Conversion } from '../../../src/crd/meta/conversion.js'

const noted =
  (way: string): Conversion =>
  (json) => ({ ok: true, value: { ...json, seen: [...((json.seen as string[]) ?? []), `${way} ${json.apiVersion}`] } })
const conversion = { toHub: noted('up'), fromHub: noted('down') }
const version = (name: string) => ({ apiVersion: `example.com/${name}`, columns: [], schema: () => z.object({}) })

const Thing = defineCrdModel<KubeObject>({
  info: { apiVersion: 'example.com/v3', kind: 'Thing', plural: 'things', namespaced: true, statusSubresource: false },
  schema: z.looseObject({ apiVersion: z.string(), kind: z.string(), metadata: z.looseObject({ name: z.string() }) }),
  categories: [],
  versions: [
    { ...version('v1'), conversion, isServed: false },
    { ...version('v2'), conversion, isDeprecated: true },
    version('v3'),
  ],
})
const thing = (name: string) => ({ apiVersion: `example.com/${name}`, kind: 'Thing', metadata: { name: 'a' } })

test.each([
  ['v1', 'v3', ['up example.com/v1']],
  ['v3', 'v2', ['down example.com/v3']],
  ['v1', 'v2', ['up example.com/v1', 'down example.com/v3']],
  ['v2', 'v2', undefined],
])('from %s to %s, each step of a conversion is shown an object in its version', (from, to, seen) => {
  const { apiVersion, ...rest } = Thing.convert(thing(from), `example.com/${to}`)
  expect(apiVersion).toBe(`example.com/${to}`)
  expect((rest as { seen?: unknown }).seen).toEqual(seen)
})

test('a version is stored, served or deprecated as it says', () => {
  expect(Thing.versions).toMatchObject([
    { apiVersion: 'example.com/v1', isStorage: false, isServed: false, isDeprecated: false },
    { apiVersion: 'example.com/v2', isStorage: false, isServed: true, isDeprecated: true },
    { apiVersion: 'example.com/v3', isStorage: true, isServed: true, isDeprecated: false },
  ])
  expect(Thing.reads).toEqual(['example.com/v3', 'example.com/v1', 'example.com/v2'])
  expect(Thing.names).toEqual({ singular: 'thing', shortNames: [], categories: [] })
})

test('a schema is built once, when it is asked for', () => {
  const [first] = IPAddressClaim.versions
  expect(first?.schema()).toBe(first?.schema())
})

test('reading fills in the defaults of the definition', () => {
  const metadata = { name: 'a' }
  const prefixes = { apiVersion: InClusterPrefixPool.info.apiVersion, kind: 'InClusterPrefixPool', metadata }
  expect(InClusterPrefixPool.parse({ ...prefixes, spec: { prefixes: [] } }).spec.allocationPrefixLength).toBe(64)
  const pool = { apiVersion: IPPool.info.apiVersion, kind: 'IPPool', metadata }
  expect(IPPool.parse({ ...pool, spec: { namePrefix: 'a' } }).spec.allocationStrategy).toBe('sequential')
})
