import { age, type VersionSpec } from '../meta/crd-model.js'
import { kubeObject, list, object, text } from '../meta/strict.js'
import { canonical } from './fields.js'
import { API_VERSION, MAX_ENDED, MAX_RESERVATIONS } from './names.js'

export function reservationVersions(): readonly VersionSpec[] {
  return [{ apiVersion: API_VERSION, columns: [age('object')], schema: reservations }]
}

function reservations() {
  const entry = object('Subnets that a controller is allocating to a node.', {
    node: text('Name of the node.', { minLength: 1, maxLength: 253 }),
    uid: text('The uid of the node.', { minLength: 1, maxLength: 36 }),
    podCIDRs: list('The subnets of the node.', canonical('A subnet.'), { minItems: 1, maxItems: 2 }),
    by: text('Identity of the controller that patches the node.', { minLength: 1, maxLength: 253 }),
  })
  const spec = object('Subnets that controllers are allocating.', {
    entries: list('One for each node.', entry, { maxItems: MAX_RESERVATIONS, mapKeys: ['node'] }).default([]),
    nodesVersion: text('The newest resourceVersion of the nodes of current and former entries.', {
      minLength: 1,
      maxLength: 39,
      pattern: '^[0-9]+$',
    }).optional(),
    ended: list(
      'The uids of ClusterCIDRs that are being deleted or were deleted. No later entry has subnets from them.',
      text('The uid of a ClusterCIDR.', { minLength: 1, maxLength: 36 }),
      { maxItems: MAX_ENDED },
    ).optional(),
  })
  return kubeObject('Subnets that several controllers are allocating to nodes at the same time.', { spec })
}
