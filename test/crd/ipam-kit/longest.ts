import { Prefix } from 'ipam-kit/cidr'
import { blockName } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { IPBlockRow } from '../../../src/crd/ipam-kit/ip-block.js'
import { handleName } from '../../../src/crd/ipam-kit/ip-handle.js'
import {
  API_VERSION,
  BLOCKS_FINALIZER,
  MAX_BLOCK_SIZE,
  MAX_NAME_LENGTH,
  ROWS_FINALIZER,
} from '../../../src/crd/ipam-kit/names.js'

type Row = Omit<IPBlockRow, 'sequence'>

/**
 * A row as a CNI plugin writes it, for a Pod with a name of 60 characters with that of its
 * namespace.
 */
export const usualRow: Row = {
  owner: `${'n'.repeat(19)}/${'p'.repeat(40)}`,
  uid: '90ab7f0e-5f35-4f07-a1c5-4f1c2b6d8e3a',
  interface: 'eth0',
  container: 'c'.repeat(64),
}

/** A row with every field at its longest. */
export const longestRow: Row = {
  owner: `${'n'.repeat(63)}/${'p'.repeat(253)}`,
  uid: 'u'.repeat(36),
  kind: 'k'.repeat(63),
  interface: 'i'.repeat(15),
  container: 'c'.repeat(64),
  mac: '02:00:00:00:00:01',
  pool: 'q'.repeat(200),
  count: 1,
  state: 'cooldown',
  released: '2026-01-01T00:00:00.000000Z',
  until: '2026-01-01T00:00:00.000000Z',
}

const NODE = 'n'.repeat(253).replaceAll(/(.{60})./g, '$1.')
const LAST = Number.MAX_SAFE_INTEGER - 1

/** A block all of whose units have a row. @param size a power of two, up to 1,024 */
export function fullBlock(size: number, row: Row, isLongest: boolean): KubeObject & { readonly spec: object } {
  const domain = isLongest ? 'd'.repeat(MAX_NAME_LENGTH) : 'default'
  const addresses = Prefix.of(Prefix.parse('10.8.0.0/16').address, 32 - Math.log2(size))
  const sequence = isLongest ? LAST : 1_767_225_600_000_000
  const rows = Object.fromEntries(
    Array.from({ length: size }, (_, unit) => [unit, { ...row, sequence: sequence - unit }]),
  )
  const place = { cidr: Prefix.format(addresses), domain, allocationPrefixLength: 32 }
  const spec = {
    ...place,
    pool: isLongest ? 'p'.repeat(MAX_NAME_LENGTH) : 'blue',
    ...(isLongest ? { node: NODE } : {}),
    sequence,
    last: size - 1,
    rows,
  }
  const metadata = { name: blockName(domain, addresses), finalizers: [ROWS_FINALIZER] }
  return { apiVersion: API_VERSION, kind: 'IPBlock', metadata, spec }
}

/** The largest block that there is. */
export const longestBlock = () => fullBlock(MAX_BLOCK_SIZE, longestRow, true)

/** A handle of an owner with an interface, and addresses of both families. */
export function handle(isLongest: boolean): KubeObject {
  const { owner, uid, kind } = isLongest ? longestRow : usualRow
  const domain = isLongest ? 'd'.repeat(MAX_NAME_LENGTH) : 'default'
  const blocks = [blockName(domain, Prefix.parse('10.8.0.0/24')), blockName(domain, Prefix.parse('fd00::/120'))]
  const name = isLongest ? 'i'.repeat(15) : 'eth0'
  const metadata = { name: handleName(uid) }
  return { apiVersion: API_VERSION, kind: 'IPHandle', metadata, spec: { owner, uid, kind, blocks: { [name]: blocks } } }
}

/** A pool of both families as people write it, and what the operator says of it. */
export function usualPool(): KubeObject {
  const counts = { total: '65534', allocated: '1024', free: '64510', reserved: '1', cooldown: '0', outOfRange: '0' }
  const condition = { type: 'Ready', status: 'True', reason: 'Ready', message: '' }
  const conditions = ['Ready', 'Exhausted', 'Overlaps'].map((type) => ({
    ...condition,
    type,
    lastTransitionTime: '2026-01-01T00:00:00Z',
    observedGeneration: 1,
  }))
  const grid = (blockPrefixLength: number, allocationPrefixLength: number) => ({
    blockPrefixLength,
    allocationPrefixLength,
  })
  return {
    apiVersion: API_VERSION,
    kind: 'IPPool',
    metadata: { name: 'blue', finalizers: [BLOCKS_FINALIZER] },
    spec: {
      domain: 'default',
      subnets: [
        { cidr: '10.8.0.0/16', gateway: '10.8.0.1', reserved: ['10.8.0.9'] },
        { cidr: 'fd00::/64', gateway: 'fd00::1' },
      ],
      skipEdges: 'auto',
      order: 'lowest',
      reuseAfterSeconds: 60,
      priority: 0,
      disabled: false,
    },
    status: {
      observedGeneration: 1,
      domainUID: usualRow.uid,
      ipv4: { ...grid(24, 32), ...counts, full: ['10.8.0.0/22'], last: '10.8.4.7' },
      ipv6: { ...grid(120, 128), ...counts, total: `${2n ** 64n - 1n}`, full: ['fd00::/118'], last: 'fd00::407' },
      conditions,
    },
  } as KubeObject
}
