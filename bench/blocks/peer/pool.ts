// The scheme of whereabouts: one object has all rows of a pool, by the offset of their addresses.

const GROUP = 'bench.ipam-kit.dev'
export const POOLS = `/apis/${GROUP}/v1/singleobjectpools`

export interface Row {
  readonly id: string
  readonly podref: string
  readonly ifname: string
}

export interface SingleObjectPool {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly resourceVersion?: string }
  readonly spec: { readonly range: string; readonly allocations: { readonly [offset: string]: Row } }
}

export function poolWith(name: string, allocations: { readonly [offset: string]: Row }): SingleObjectPool {
  const spec = { range: '10.0.0.0/18', allocations }
  return { apiVersion: `${GROUP}/v1`, kind: 'SingleObjectPool', metadata: { name }, spec }
}

const text = { type: 'string' }
const row = {
  type: 'object',
  required: ['id', 'podref', 'ifname'],
  properties: { id: text, podref: text, ifname: text },
}
const spec = { type: 'object', properties: { range: text, allocations: { type: 'object', additionalProperties: row } } }

export const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `singleobjectpools.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Cluster',
    names: { kind: 'SingleObjectPool', plural: 'singleobjectpools', singular: 'singleobjectpool' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
      },
    ],
  },
}
