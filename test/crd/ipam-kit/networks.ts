import { ClusterNetwork } from 'ipam-kit/crd/ipam-kit'
import { API_VERSION, MAX_CONSUMERS, MAX_KNOWN_PREFIXES, MAX_RANGES } from '../../../src/crd/ipam-kit/names.js'

const proposedAt = '2026-01-01T00:00:00Z'

/** A view of one range for each family. */
export const networkStatus = {
  observedGeneration: 1,
  assigner: 'ClusterCIDR',
  families: [
    {
      ...{ family: 'IPv4', known: ['10.1.0.0/16'], exact: true, foreignAddresses: '0' },
      ...{ active: 0, terminating: 0, proposed: 1, nodes: 0 },
    },
    {
      ...{ family: 'IPv6', known: ['fd00:1::/32'], exact: false, foreignAddresses: `${2n ** 96n - 2n ** 64n}` },
      ...{ active: 1, terminating: 0, proposed: 0, nodes: 5000 },
    },
  ],
  ranges: [
    { cidr: '10.1.0.0/16', state: 'Proposed', source: { kind: 'ClusterCIDR', name: 'rack-1' }, proposedAt },
    { cidr: 'fd00:1:1::/64', state: 'Active', source: { kind: 'Flag', name: '--cluster-cidr' }, proposedAt },
  ],
  hash: '9f86d081884c7d65',
}

export function network(spec: object = {}, status: object = networkStatus): ClusterNetwork {
  return ClusterNetwork.parse({
    ...{ apiVersion: API_VERSION, kind: 'ClusterNetwork' },
    metadata: { name: 'pods' },
    spec,
    status,
  })
}

/** A status with as much of everything as the definition of the kind takes. */
export function largestStatus() {
  const time = '2026-01-01T00:00:00.000000Z'
  // the longest text of an IPv6 CIDR that is canonical
  const cidrs = Array.from(
    { length: MAX_RANGES },
    (_, index) => `fd00:1111:1111:1111:1111:1111:1111:${(0x1000 + index).toString(16)}/128`,
  )
  const consumers = Array.from({ length: MAX_CONSUMERS }, (_, index) => `${'c'.repeat(62)}${index}`)
  const family = {
    ...{ known: cidrs.slice(0, MAX_KNOWN_PREFIXES), exact: false, foreignAddresses: '9'.repeat(39) },
    ...{ active: MAX_RANGES, terminating: MAX_RANGES, proposed: MAX_RANGES, nodes: 2 ** 31 - 1 },
  }
  return {
    observedGeneration: Number.MAX_SAFE_INTEGER,
    assigner: 'ClusterCIDR',
    families: [
      { family: 'IPv4', ...family },
      { family: 'IPv6', ...family },
    ],
    ranges: cidrs.map((cidr) => ({
      ...{ cidr, state: 'Terminating', proposedAt: time },
      source: { kind: 'K'.repeat(63), name: 'n'.repeat(253) },
    })),
    answers: cidrs.flatMap((cidr) =>
      // a server writes six bytes for each of these characters
      consumers.map((consumer) => ({ cidr, consumer, accepted: false, reason: '<'.repeat(128), at: time })),
    ),
    hash: 'f'.repeat(64),
    conditions: Array.from({ length: 4 }, (_, index) => ({
      ...{ type: `Type${index}`, status: 'Unknown', reason: 'R'.repeat(64), message: 'm'.repeat(1024) },
      lastTransitionTime: proposedAt,
    })),
  }
}
