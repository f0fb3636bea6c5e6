import fc from 'fast-check'
import { Prefix } from 'ipam-kit/cidr'
import { GlobalInClusterIPPool, InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { prefix } from 'ipam-kit/testing/arbitraries'
import { describe, expect, test } from 'vitest'
import {
  addressText,
  asCompared,
  fixedMetadata,
  frozen,
  GROUP,
  metadata,
  some,
  unknownFields,
  withoutData,
} from '../arbitraries.js'

const V1ALPHA1 = `${GROUP}/v1alpha1`
const HUB = `${GROUP}/v1alpha2`
const models = { InClusterIPPool, GlobalInClusterIPPool }

type Kind = keyof typeof models

const count = fc.nat()
const status = some({ ipAddresses: fc.record({ total: count, free: count, used: count, outOfRange: count }) })
const kind = fc.constantFrom<Kind>('InClusterIPPool', 'GlobalInClusterIPPool')
const addresses = fc.array(addressText, { maxLength: 3 })
const merged = (parts: readonly object[]) => Object.assign({}, ...parts)

const hubPool = fc
  .record({
    kind,
    metadata,
    status,
    spec: fc
      .tuple(
        fc.record({ addresses, prefix: fc.nat(128) }),
        some({
          gateway: addressText,
          allocateReservedIPAddresses: fc.boolean(),
          excludedAddresses: fc.array(addressText, { minLength: 1, maxLength: 2 }),
          addressReuseGracePeriodSeconds: fc.nat(3600),
        }),
        unknownFields,
      )
      .map(merged),
  })
  .map((fields) => ({ apiVersion: HUB, ...fields }))

/** Every way to write a pool in v1alpha1 in which nothing is left to be filled in. */
const wholeOldPool = fc
  .record({
    kind,
    metadata,
    status,
    spec: fc
      .tuple(
        fc.record({ prefix: fc.integer({ min: 1, max: 128 }) }),
        fc.oneof(
          fc.record({ addresses }),
          fc.record({ start: addressText, end: addressText }),
          fc.record({ subnet: prefix().map(Prefix.format), start: addressText, end: addressText }),
          fc.record({ addresses, subnet: prefix().map(Prefix.format), start: addressText, end: addressText }),
        ),
        some({ gateway: addressText }),
        unknownFields,
      )
      .map(merged),
  })
  .map((fields) => ({ apiVersion: V1ALPHA1, ...fields }))

describe('a pool, converted and back', () => {
  test('from v1alpha2 it is the same, with what v1alpha1 has no field for', () => {
    fc.assert(
      fc.property(hubPool, (pool) => {
        const model = models[pool.kind]
        const down = model.convert(frozen(pool), V1ALPHA1)
        expect(withoutData(model.convert(frozen(down), HUB))).toEqual(asCompared(pool))
      }),
    )
  })

  test('from v1alpha1 it is the same, annotations and all', () => {
    fc.assert(
      fc.property(wholeOldPool, (pool) => {
        const model = models[pool.kind]
        const hub = model.convert(frozen(pool), HUB)
        expect(asCompared(model.convert(frozen(hub), V1ALPHA1))).toEqual(asCompared(pool))
      }),
    )
  })

  test('a second time it is the same as the first time', () => {
    fc.assert(
      fc.property(fc.oneof(hubPool, wholeOldPool), (pool) => {
        const model = models[pool.kind]
        const once = model.convert(model.convert(pool, HUB), V1ALPHA1)
        const twice = model.convert(model.convert(frozen(once), HUB), V1ALPHA1)
        expect(asCompared(twice)).toEqual(asCompared(once))
      }),
    )
  })
})

test('conversions leave fixed metadata alone, and give what their version takes', () => {
  fc.assert(
    fc.property(fc.oneof(hubPool, wholeOldPool), (pool) => {
      const model = models[pool.kind]
      expect(model.validate(pool)).toEqual([])
      const other = model.convert(pool, pool.apiVersion === HUB ? V1ALPHA1 : HUB)
      expect(model.validate(other)).toEqual([])
      expect(fixedMetadata(other)).toEqual(fixedMetadata(pool))
    }),
  )
})
