import { age, column, type VersionSpec } from '../meta/crd-model.js'
import { READ_AS } from '../meta/reader.js'
import { type Field, integer, kubeObject, list, object, text, withRules } from '../meta/strict.js'
import { condition } from '../meta/strict-conditions.js'
import { API_VERSION_V1ALPHA1 } from './names.js'
import { type IdentityReference, identityReferenceSchema } from './references.js'

export function poolVersions(): readonly VersionSpec[] {
  const columns = [
    column('Max', 'How many addresses the pool can have', '.spec.maxIPs', 'integer'),
    column('Policy', 'What becomes of a released address', '.spec.reclaimPolicy'),
    age('pool'),
  ]
  return [{ apiVersion: API_VERSION_V1ALPHA1, columns, schema: pool }]
}

export function pool() {
  const spec = object('Which floating IPs the pool gives.', {
    preAllocatedFloatingIPs: list(
      'Floating IPs that exist already. They are used before others, and never deleted.',
      text('An address.'),
    ).optional(),
    maxIPs: integer('How many addresses of the pool there are at most. Left out: no limit.').optional(),
    identityRef: identityReference(),
    floatingIPNetwork: network().optional(),
    reclaimPolicy: text('What becomes of a floating IP that the pool has created, when its claim is released.', {
      enum: ['Retain', 'Delete'],
    }),
  })
  return kubeObject('A pool of floating IPs.', { spec: spec.optional(), status: status().optional() })
}

function status() {
  const addresses = (description: string) => list(description, text('An address.'))
  const network = object('The external network of the pool.', {
    id: text('Id of the network.', { minLength: 1 }),
    name: text('Name of the network.', { minLength: 1 }),
    tags: list('Tags of the network.', text('A tag.'), { isSet: true }).optional(),
  })
  return object('What the pool has given.', {
    claimedIPs: addresses('Addresses that claims have.').default([]),
    availableIPs: addresses('Addresses that no claim has.').default([]),
    failedIPs: addresses('Addresses that the cloud does not know.').optional(),
    floatingIPNetwork: network.optional(),
    conditions: list('What is so of the pool, and why.', condition()).optional(),
  })
}

function identityReference(): Field<IdentityReference> {
  const reference = object('Which credentials reach the cloud.', {
    type: text('Kind of what has the credentials: a Secret of the namespace, or an OpenStackClusterIdentity.', {
      enum: ['Secret', 'ClusterIdentity'],
    }).default('Secret'),
    name: text('Name of the Secret, which has a file clouds.yaml, or of the OpenStackClusterIdentity.', {
      minLength: 1,
    }),
    cloudName: text('The entry in clouds.yaml.', { minLength: 1 }),
    region: text('The region of the cloud. Left out: that of clouds.yaml. Never changes.').optional(),
  })
  const rule = '(!has(self.region) && !has(oldSelf.region)) || self.region == oldSelf.region'
  return withRules(reference, [{ rule, message: 'region is immutable' }]).register(READ_AS, {
    reader: identityReferenceSchema,
  })
}

function network() {
  const tags = (description: string) => {
    const tag = text('A tag: not empty, and without commas.', { minLength: 1, pattern: '^[^,]+$' })
    return list(description, tag, { isSet: true }).optional()
  }
  const filter = object(
    'What the network is called, whose it is, and its tags. What is left out is not looked at.',
    {
      name: text('Name of the network.').optional(),
      description: text('Description of the network.').optional(),
      projectID: text('Id of the project of the network.').optional(),
      tags: tags('Tags that the network has, all of them.'),
      tagsAny: tags('Tags of which the network has one or more.'),
      notTags: tags('Tags that the network does not have all of.'),
      notTagsAny: tags('Tags that the network has none of.'),
    },
    { minProperties: 1 },
  )
  const shape = { id: text('Id of the network.', { format: 'uuid' }).optional(), filter: filter.optional() }
  return object('The external network, by id or by filter. Left out: the only one that there is.', shape, {
    minProperties: 1,
    maxProperties: 1,
  })
}
