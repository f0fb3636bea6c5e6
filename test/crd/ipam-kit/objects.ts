import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import type { IPBlockRow } from '../../../src/crd/ipam-kit/ip-block.js'
import { API_VERSION } from '../../../src/crd/ipam-kit/names.js'

type Fields = { readonly [field: string]: unknown }

/** A pool of 10.0.0.0/24, but for what is given. */
export function pool(spec: Fields = {}, name = 'blue'): IPPool {
  return IPPool.parse({
    apiVersion: API_VERSION,
    kind: 'IPPool',
    metadata: { name },
    spec: { subnets: [{ cidr: '10.0.0.0/24' }], ...spec },
  })
}

/** A domain of blocks of 256 addresses. */
export function domain(spec: Fields = {}, name = 'default'): IPDomain {
  const ipv4 = { blockPrefixLength: 24, allocationPrefixLength: 32 }
  const ipv6 = { blockPrefixLength: 120, allocationPrefixLength: 128 }
  return IPDomain.parse({
    apiVersion: API_VERSION,
    kind: 'IPDomain',
    metadata: { name },
    spec: { ipv4, ipv6, ...spec },
  })
}

/** The block 10.0.0.0/24 of the pool blue, but for what is given. */
export function block(spec: Fields = {}, name = 'default-4-0a000000-24'): IPBlock {
  const whole = {
    cidr: '10.0.0.0/24',
    domain: 'default',
    allocationPrefixLength: 32,
    pool: 'blue',
    sequence: 9,
    ...spec,
  }
  return IPBlock.parse({ apiVersion: API_VERSION, kind: 'IPBlock', metadata: { name }, spec: whole })
}

export function row(sequence: number, fields: Partial<IPBlockRow> = {}): IPBlockRow {
  return { owner: 'lab/web-0', uid: 'u-0', sequence, ...fields }
}
