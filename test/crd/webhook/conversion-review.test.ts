import fc from 'fast-check'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { poolModels } from 'ipam-kit/crd/in-cluster'
import { answerConversionReview } from 'ipam-kit/crd/webhook'
import { describe, expect, test } from 'vitest'
import { fixedMetadata, frozen, metadata } from '../arbitraries.js'

const GROUP = 'ipam.cluster.x-k8s.io'
const models = [IPAddressClaim, IPAddress, ...poolModels]
const claim = (name: string, version = 'v1beta2') => ({
  apiVersion: `${GROUP}/${version}`,
  kind: 'IPAddressClaim',
  metadata: { name, namespace: 'lab' },
  spec: { poolRef: { apiGroup: GROUP, kind: 'InClusterIPPool', name: 'blue' } },
})
const pool = (spec: object) => ({
  apiVersion: `${GROUP}/v1alpha1`,
  kind: 'InClusterIPPool',
  metadata: { name: 'blue', namespace: 'lab' },
  spec,
})
const review = (desiredAPIVersion: string, objects: readonly unknown[]) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'ConversionReview',
  request: { uid: 'u-1', desiredAPIVersion, objects },
})
const answer = (version: string, objects: readonly unknown[]) =>
  answerConversionReview(review(`${GROUP}/${version}`, objects), models)

describe('a review is answered', () => {
  test('with its uid and every object, in the order of the question', () => {
    const objects = [claim('b', 'v1alpha1'), claim('a'), claim('c', 'v1beta1')]
    expect(answer('v1beta1', objects)).toEqual({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'ConversionReview',
      response: {
        uid: 'u-1',
        result: { status: 'Success' },
        convertedObjects: [claim('b', 'v1beta1'), claim('a', 'v1beta1'), claim('c', 'v1beta1')],
      },
    })
  })

  test('with nothing if nothing was asked', () => {
    expect(answer('v1beta1', []).response).toMatchObject({ result: { status: 'Success' }, convertedObjects: [] })
  })

  test.each<[string, string, readonly unknown[], string]>([
    [
      'an object without a form',
      'v1alpha2',
      [pool({ subnet: '10.0.0.0/24' }), pool({ subnet: 'x' })],
      `objects[1]: InClusterIPPool lab/blue has no form in ${GROUP}/v1alpha2: spec.subnet: "x": no '/'`,
    ],
    ['a version that there is not', 'v9', [claim('a')], 'objects[0]: IPAddressClaim lab/a: expected'],
    [
      'a list',
      'v1beta1',
      [{ apiVersion: `${GROUP}/v1beta2`, kind: 'IPAddressClaimList', items: [] }],
      'objects[0]: IPAddressClaimList cannot be converted: this webhook serves IPAddressClaim, IPAddress',
    ],
    [
      'a kind of another group',
      'v1beta1',
      [claim('a'), { ...claim('b'), apiVersion: 'example.com/v1beta2' }],
      'objects[1]: IPAddressClaim lab/b cannot be converted',
    ],
    ['what is no object', 'v1beta1', [claim('a'), 'x'], 'objects[1]: not an object with apiVersion and kind'],
    ['null', 'v1beta1', [claim('a'), null], 'objects[1]: not an object with apiVersion and kind'],
  ])('with a failure of the whole for %s', (_, version, objects, words) => {
    const { response } = answer(version, objects)
    expect(response).toMatchObject({ uid: 'u-1', result: { status: 'Failed' }, convertedObjects: [] })
    expect('message' in response.result && response.result.message).toContain(words)
  })
})

test('no metadata changes but labels and annotations', () => {
  fc.assert(
    fc.property(
      fc.array(metadata, { maxLength: 4 }),
      fc.constantFrom('v1alpha1', 'v1beta1', 'v1beta2'),
      (all, version) => {
        const objects = all.map((metadata) => ({
          ...claim('x'),
          metadata,
          spec: { ...claim('x').spec, clusterName: 'c1' },
        }))
        const { convertedObjects } = answer(version, frozen(objects)).response
        expect(convertedObjects.map(fixedMetadata)).toEqual(all.map((metadata) => fixedMetadata({ metadata })))
      },
    ),
  )
})

describe('what is no review', () => {
  test.each([null, 'x', [], {}, claim('a'), { ...review('v', []), apiVersion: 'apiextensions.k8s.io/v1beta1' }])(
    '%j is refused for what it is',
    (json) => {
      expect(() => answerConversionReview(json, models)).toThrow(
        expect.objectContaining({ code: 'OBJECT_KIND_MISMATCH' }),
      )
    },
  )

  test.each<[object, string]>([
    [{ request: undefined }, 'request'],
    [{ request: { desiredAPIVersion: 'v', objects: [] } }, 'request.uid'],
    [{ request: { uid: '', desiredAPIVersion: 'v', objects: [] } }, 'request.uid'],
    [{ request: { uid: 'u', objects: [] } }, 'request.desiredAPIVersion'],
    [{ request: { uid: 'u', desiredAPIVersion: 'v', objects: {} } }, 'request.objects'],
  ])('%j is refused for what is missing', (change, path) => {
    expect(() => answerConversionReview({ ...review('v', []), ...change }, models)).toThrow(
      expect.objectContaining({
        code: 'INVALID_OBJECT',
        context: expect.objectContaining({ issues: [expect.objectContaining({ path })] }),
      }),
    )
  })
})
