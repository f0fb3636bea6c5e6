import * as z from 'zod'
import { type CrdModel, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { type Condition, conditionSchema, objectSchema } from '../meta/schema.js'
import { type FamilyGrid, gridSchema } from './grid.js'
import { API_VERSION } from './names.js'
import { domainVersions } from './versions.js'

/**
 * An address space in which each address is allocated at most once: a routing domain, a VRF, a
 * network view. Pools of one domain may overlap. The same address in two domains is two addresses.
 * The spec is the grid of the blocks of all pools in the domain. It is immutable.
 */
export interface IPDomain extends KubeObject {
  readonly spec: IPDomainSpec
  readonly status?: IPDomainStatus | undefined
}

export interface IPDomainSpec {
  readonly ipv4: FamilyGrid
  readonly ipv6: FamilyGrid
}

export interface IPDomainStatus {
  readonly conditions?: readonly Condition[] | undefined
}

const schema: z.ZodType<IPDomain> = objectSchema({
  spec: z.looseObject({ ipv4: gridSchema, ipv6: gridSchema }),
  status: z.looseObject({ conditions: z.array(conditionSchema).optional() }).optional(),
})

export const IPDomain: CrdModel<IPDomain> = /* @__PURE__ */ defineCrdModel({
  info: { apiVersion: API_VERSION, kind: 'IPDomain', plural: 'ipdomains', namespaced: false, statusSubresource: true },
  schema,
  categories: ['ipam'],
  versions: domainVersions(),
})
