import * as z from 'zod'
import type { VersionSpec } from '../meta/crd-model.js'
import { READ_AS } from '../meta/reader.js'
import { type Field, kubeObject, list, mapOf, object, text } from '../meta/strict.js'
import { API_VERSION } from './names.js'

// The definitions of upstream: types alone, without limits, patterns, columns or a subresource.

export function versionsOf(schema: () => z.ZodType): readonly VersionSpec[] {
  return [{ apiVersion: API_VERSION, columns: [], schema }]
}

export function ipPool() {
  const spec = object('The range, and which of its addresses are allocated.', {
    range: text('The range as CIDR. Row keys count from the address that is written here, host bits included.'),
    allocations: allocations(),
  })
  return kubeObject('The allocated addresses of a range.', { spec: spec.optional() })
}

/**
 * One row that is not as the definition says would make the whole pool unreadable. Rows are read
 * one by one, by `readRows`.
 */
function allocations(): Field<{ readonly [key: string]: unknown }> {
  const row = object('The holder of an address.', {
    id: text('The id of the container.'),
    podref: text('The namespace and the name of the Pod, separated by a slash.'),
    ifname: text('The name of the interface in the Pod.').optional(),
  })
  const field = mapOf('A row for each allocated address. The key is the offset of the address, as decimal text.', row)
  READ_AS.add(field, { reader: z.record(z.string(), z.unknown()).default({}) })
  return field
}

export function reservation() {
  const spec = object('The holder of the address. The address is in the name of the object.', {
    containerid: text('The id of the container. Upstream leaves it out.').optional(),
    podref: text('The namespace and the name of the Pod, separated by a slash.'),
    ifname: text('The name of the interface in the Pod.').optional(),
  })
  return kubeObject('An address that one Pod has, in all ranges of a network.', { spec })
}

export function nodeSlicePool() {
  const spec = object('The range, and the size of the slices that it is divided into.', {
    range: text('The whole range as CIDR. Each node has one slice of it.'),
    sliceSize: text('The prefix length of a slice, with or without a slash before it.'),
  })
  const slice = object('A slice and its node.', {
    nodeName: text('The name of the node. Empty: the slice is free.'),
    sliceRange: text('The slice as CIDR.'),
  })
  const status = object('The slices of the range.', {
    allocations: list('All slices of the range, the free ones included.', slice),
  })
  return kubeObject('The division of a range into slices, one for each node.', {
    spec: spec.optional(),
    status: status.optional(),
  })
}
