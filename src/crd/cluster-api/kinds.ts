import type { KindOf } from '../../errors/check.js'
import { META } from '../meta/object.js'
import type { IPAddress } from './ip-address.js'
import type { IPAddressClaim } from './ip-address-claim.js'
import type { IPPoolReference } from './references.js'

// What checks of arguments hold of these kinds. They do without the models, and so without zod.

export const POOL_REF: KindOf<IPPoolReference> = ['open', { apiGroup: 'text', kind: 'text', name: 'text' }]

export const CLAIM: KindOf<IPAddressClaim> = [
  'open',
  {
    metadata: META,
    spec: ['open', { clusterName: 'text?', poolRef: POOL_REF }],
    status: ['open?', { addressRef: ['open?', { name: 'text' }], conditions: ['list?', 'object'] }],
  },
]

export const ADDRESS: KindOf<IPAddress> = [
  'open',
  {
    metadata: META,
    spec: ['open', { claimRef: ['open', { name: 'text' }], poolRef: POOL_REF, address: 'text' }],
  },
]
