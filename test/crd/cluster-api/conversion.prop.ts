import fc from 'fast-check'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { describe, expect, test } from 'vitest'
import {
  addressText,
  asCompared,
  CLUSTER_NAME_LABEL,
  conditions,
  fixedMetadata,
  frozen,
  GROUP,
  legacyConditions,
  metadata,
  name,
  some,
  unknownFields,
  withoutData,
} from '../arbitraries.js'

const V1ALPHA1 = `${GROUP}/v1alpha1`
const V1BETA1 = `${GROUP}/v1beta1`
const HUB = `${GROUP}/v1beta2`
const OLD = [V1ALPHA1, V1BETA1]

const spread = ([fields, others]: readonly [object, object]) => ({ ...fields, ...others })
const poolRef = fc.record({ apiGroup: name, kind: fc.constantFrom('InClusterIPPool', 'Pool'), name })
const oldPoolRef = fc.oneof(
  poolRef,
  fc.record({ kind: fc.constant('Pool'), name }),
  fc.record({ apiGroup: fc.constant(null), kind: fc.constant('Pool'), name }),
)

const hubClaim = fc
  .record({
    metadata,
    clusterName: fc.option(name, { nil: undefined }),
    isLabelled: fc.boolean(),
    spec: fc.tuple(fc.record({ poolRef }), unknownFields).map(spread),
    status: fc.option(
      fc
        .tuple(
          some({
            addressRef: fc.record({ name }),
            conditions,
            deprecated: some({ v1beta1: some({ conditions: legacyConditions }) }),
          }),
          unknownFields,
        )
        .map(spread)
        .filter((status) => Object.keys(status).length > 0),
      { nil: undefined },
    ),
  })
  .map(({ metadata, clusterName, isLabelled, spec, status }) => {
    const { labels } = metadata as { readonly labels?: object }
    const labelled = clusterName !== undefined && isLabelled ? { ...labels, [CLUSTER_NAME_LABEL]: clusterName } : labels
    return {
      apiVersion: HUB,
      kind: 'IPAddressClaim',
      metadata: labelled === undefined ? metadata : { ...metadata, labels: labelled },
      spec: clusterName === undefined ? spec : { ...spec, clusterName },
      ...(status === undefined ? {} : { status }),
    }
  })

const v1beta1Claim = fc
  .record({
    metadata,
    spec: fc
      .tuple(fc.record({ poolRef: oldPoolRef }), some({ clusterName: name }), unknownFields)
      .map((parts) => Object.assign({}, ...parts)),
    status: some({ addressRef: fc.record({ name }), conditions: legacyConditions, v1beta2: some({ conditions }) }),
  })
  .map((fields) => ({ apiVersion: V1BETA1, kind: 'IPAddressClaim', ...fields }))

const v1alpha1Claim = fc
  .record({
    metadata,
    label: fc.option(name, { nil: undefined }),
    spec: fc.tuple(fc.record({ poolRef: oldPoolRef }), unknownFields).map(spread),
    status: some({ addressRef: fc.record({ name }), conditions: legacyConditions }),
  })
  .map(({ metadata, label, ...fields }) => {
    const { labels } = metadata as { readonly labels?: object }
    const labelled =
      label === undefined ? metadata : { ...metadata, labels: { ...labels, [CLUSTER_NAME_LABEL]: label } }
    return { apiVersion: V1ALPHA1, kind: 'IPAddressClaim', metadata: labelled, ...fields }
  })

const addressFields = { address: addressText, prefix: fc.nat(128), claimRef: fc.record({ name }) }
const hubAddress = fc
  .record({
    metadata,
    spec: fc.tuple(fc.record({ ...addressFields, poolRef }), some({ gateway: addressText })).map(spread),
  })
  .map((fields) => ({ apiVersion: HUB, kind: 'IPAddress', ...fields }))
const oldAddress = fc
  .record({
    apiVersion: fc.constantFrom(...OLD),
    metadata,
    spec: fc.tuple(fc.record({ ...addressFields, poolRef: oldPoolRef }), some({ gateway: addressText })).map(spread),
  })
  .map((fields) => ({ kind: 'IPAddress', ...fields }))

describe('a conversion and its way back', () => {
  test.each(OLD)('give the stored claim again, by way of %s', (old) => {
    fc.assert(
      fc.property(hubClaim, (claim) => {
        const down = IPAddressClaim.convert(frozen(claim), old)
        expect(asCompared(IPAddressClaim.convert(frozen(down), HUB))).toEqual(asCompared(claim))
      }),
    )
  })

  test.each([
    ['v1alpha1', v1alpha1Claim],
    ['v1beta1', v1beta1Claim],
  ])('give a claim of %s again', (_, claims) => {
    fc.assert(
      fc.property(claims as fc.Arbitrary<{ apiVersion: string }>, (claim) => {
        const hub = IPAddressClaim.convert(frozen(claim), HUB)
        expect(asCompared(IPAddressClaim.convert(frozen(hub), claim.apiVersion))).toEqual(asCompared(claim))
      }),
    )
  })

  test('give an address again, whichever version it begins with', () => {
    fc.assert(
      fc.property(hubAddress, fc.constantFrom(...OLD), (address, old) => {
        expect(IPAddress.convert(IPAddress.convert(frozen(address), old), HUB)).toEqual(address)
      }),
    )
    fc.assert(
      fc.property(oldAddress, (address) => {
        const hub = IPAddress.convert(frozen(address), HUB)
        expect(asCompared(IPAddress.convert(frozen(hub), address.apiVersion))).toEqual(asCompared(address))
      }),
    )
  })

  test('give a claim of v1beta1 again by way of v1alpha1, which goes through the hub', () => {
    fc.assert(
      fc.property(hubClaim, (claim) => {
        const beta = IPAddressClaim.convert(claim, V1BETA1)
        const back = IPAddressClaim.convert(IPAddressClaim.convert(frozen(beta), V1ALPHA1), V1BETA1)
        expect(asCompared(back)).toEqual(asCompared(beta))
      }),
    )
  })
})

describe('a conversion', () => {
  const claims = fc.oneof(hubClaim, v1beta1Claim, v1alpha1Claim)

  test('leaves all metadata but labels and annotations as it is', () => {
    fc.assert(
      fc.property(claims, fc.constantFrom(HUB, ...OLD), (claim, to) => {
        const converted = IPAddressClaim.convert(frozen(claim), to)
        expect(converted.apiVersion).toBe(to)
        expect(fixedMetadata(converted)).toEqual(fixedMetadata(claim))
      }),
    )
  })

  test('gives what its version takes, of what the other version takes', () => {
    fc.assert(
      fc.property(fc.oneof(hubClaim, hubAddress), fc.constantFrom(...OLD), (object, old) => {
        const model = object.kind === 'IPAddress' ? IPAddress : IPAddressClaim
        // what no version knows does not count as a property of the status
        fc.pre(!('status' in object && 'future' in object.status))
        expect(model.validate(object)).toEqual([])
        const down = model.convert(object, old)
        expect(model.validate(down)).toEqual([])
        expect(model.validate(model.convert(down, HUB))).toEqual([])
      }),
    )
  })

  test('reads as what it is converted from', () => {
    fc.assert(
      fc.property(fc.oneof(hubClaim, v1beta1Claim, v1alpha1Claim), (claim) => {
        const read = IPAddressClaim.parse(IPAddressClaim.convert(claim, HUB))
        expect(asCompared(IPAddressClaim.parse(claim))).toEqual(asCompared(read))
      }),
    )
  })

  test('keeps what waits for the way back in one annotation alone', () => {
    fc.assert(
      fc.property(hubClaim, (claim) => {
        const status = (claim as { readonly status?: { readonly conditions?: readonly unknown[] } }).status
        const bare = {
          ...claim,
          status: { ...status, conditions: [] },
          spec: { ...claim.spec, clusterName: undefined },
          // a label without the field waits for the way back as well
          metadata: { ...claim.metadata, labels: undefined },
        }
        expect(withoutData(IPAddressClaim.convert(claim, V1BETA1))).toEqual(
          asCompared(IPAddressClaim.convert(claim, V1BETA1)),
        )
        const plain = IPAddressClaim.convert(JSON.parse(JSON.stringify(bare)), V1ALPHA1)
        expect(asCompared(plain)).toEqual(withoutData(plain))
      }),
    )
  })
})
