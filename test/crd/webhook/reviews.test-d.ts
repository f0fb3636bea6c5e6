import { admitIPAddress, admitIPAddressClaim, type IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { crdManifest } from 'ipam-kit/crd/manifest'
import { type Admission, defineModel, type FieldError, type KubeObject } from 'ipam-kit/crd/meta'
import { type AdmissionRequest, answerConversionReview, parseAdmissionReview } from 'ipam-kit/crd/webhook'
import { expectTypeOf, test } from 'vitest'

test('a request narrows by its operation', () => {
  const objectOf = (request: AdmissionRequest) => {
    switch (request.operation) {
      case 'CREATE':
        return request.object
      case 'UPDATE':
        return [request.object, request.oldObject] as const
      case 'DELETE':
        // @ts-expect-error there is no new object
        return request.object
      default:
        expectTypeOf(request).toEqualTypeOf<never>()
        return request
    }
  }
  expectTypeOf(objectOf).toBeFunction()
})

test('a request goes to the rules as it is, and an address needs what is known of its claim', () => {
  const request = parseAdmissionReview({})
  expectTypeOf(admitIPAddressClaim(request)).toEqualTypeOf<Admission>()
  // @ts-expect-error nothing is said of the claim
  admitIPAddress(request)
  if (request.operation !== 'CREATE') admitIPAddress(request)
  else admitIPAddress({ ...request, claim: { kind: 'absent' } })
})

test('kinds that are known whole convert, validate and have a definition; the others only read', () => {
  expectTypeOf(IPAddressClaim.convert).returns.toEqualTypeOf<KubeObject>()
  expectTypeOf(InClusterIPPool.validate).returns.toEqualTypeOf<readonly FieldError[]>()
  answerConversionReview({}, [IPAddressClaim, InClusterIPPool])
  const reader = defineModel<IPAddress>({} as Parameters<typeof defineModel<IPAddress>>[0])
  // @ts-expect-error a reader has no versions
  crdManifest(reader)
  // @ts-expect-error nor conversions
  answerConversionReview({}, [reader])
})

test('a refusal says how, and a yes may warn', () => {
  const admission = {} as Admission
  if (admission.allowed) expectTypeOf(admission.warnings).toEqualTypeOf<readonly string[]>()
  else expectTypeOf(admission.code).toEqualTypeOf<400 | 403 | 422 | 500>()
})
