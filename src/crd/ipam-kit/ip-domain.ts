import { age, type CrdModel, column } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { type FieldsOf, fixed, object } from '../meta/strict.js'
import { conditions } from '../meta/strict-conditions.js'
import { named, ownKind, ready } from './fields.js'
import { grid } from './grid.js'

/**
 * An address space in which each address is allocated at most once: a routing domain, a VRF, a
 * network view. Pools of one domain may overlap. The same address in two domains is two addresses.
 * The spec is the grid of the blocks of all pools in the domain. It is immutable.
 */
export interface IPDomain extends KubeObject {
  readonly spec: IPDomainSpec
  readonly status?: IPDomainStatus | undefined
}

export interface IPDomainSpec extends FieldsOf<typeof specFields> {}

export interface IPDomainStatus extends FieldsOf<typeof statusFields> {}

function specFields() {
  return {
    ipv4: grid(4, 'Lengths of blocks and units of IPv4.'),
    ipv6: grid(6, 'Lengths of blocks and units of IPv6.'),
  }
}

function statusFields() {
  return { conditions: conditions('Conditions of the domain. Known types: Ready.').optional() }
}

const blockLength = (family: 4 | 6) =>
  column(
    `IPv${family} block`,
    `Length of the blocks of IPv${family}`,
    `.spec.ipv${family}.blockPrefixLength`,
    'integer',
  )

export const IPDomain: CrdModel<IPDomain> = /* @__PURE__ */ ownKind({
  kind: 'IPDomain',
  statusSubresource: true,
  columns: [blockLength(4), blockLength(6), ready('domain'), age('domain')],
  schema: () =>
    named('An address space in which each address is allocated at most once, by all of its pools together.', {
      spec: fixed(object('The grid of the blocks of all pools in the domain. Immutable.', specFields())),
      status: object('Observed state of the domain.', statusFields()).optional(),
    }),
})
