import * as Address from '../../cidr/nouns/address.js'
import { check, type Kind } from '../../errors/check.js'
import type { ExternalFailure, ExternalResult } from '../../plan/index.js'

/** A wanted floating IP, and what is known about it. */
export interface WantedFloatingIP {
  /** The wanted address; left out: any, so a new one is created. */
  readonly address?: string | undefined
  /** The description of a new one. */
  readonly description?: string | undefined
  /** The tags of a new one. */
  readonly tags?: readonly string[] | undefined
  /** The floating IPs with that address. Left out: not listed yet. */
  readonly listed?: ExternalResult<readonly { readonly address: string }[]> | undefined
  /** The extensions of the cloud. Left out: not known yet. */
  readonly extensions?: ExternalResult<readonly string[]> | undefined
}

/** The next step. */
export type FloatingIPStep =
  | { readonly kind: 'list'; readonly address: string }
  | { readonly kind: 'listExtensions' }
  /** `tags` are added after the creation: Neutron does not accept them before. */
  | {
      readonly kind: 'create'
      readonly address: string | undefined
      readonly description: string
      readonly tags: readonly string[]
    }
  | { readonly kind: 'use'; readonly address: string }
  | { readonly kind: 'failed'; readonly failure: ExternalFailure }

const WANTED: Kind = [
  'open',
  {
    address: 'text?',
    description: 'text?',
    tags: ['list?', 'text'],
    listed: ['open?', { ok: 'flag', value: ['list?', ['open', { address: 'text' }]] }],
    extensions: ['open?', { ok: 'flag', value: ['list?', 'text'] }],
  },
]

/** The extension of Neutron that tags need. */
const TAGS = 'standard-attr-tag'

/**
 * The next step to get a floating IP: an existing one is used. Before one is created, the step asks
 * whether the cloud supports tags, so that none is left without its tags. O(listed).
 *
 * Source: `GetOrCreateFloatingIP` of cluster-api-provider-openstack,
 * pkg/cloud/services/networking/floatingip.go.
 *
 * @example
 * getOrCreateFloatingIP({ address: '203.0.113.1' }) // { kind: 'list', address: '203.0.113.1' }
 * getOrCreateFloatingIP({ address: '203.0.113.1', listed: { ok: true, value: [] } })
 * // { kind: 'create', address: '203.0.113.1', description: '', tags: [] }
 */
export function getOrCreateFloatingIP(wanted: WantedFloatingIP): FloatingIPStep {
  check<unknown>('getOrCreateFloatingIP', 'wanted', wanted, WANTED)
  const { address: text, description = '', tags = [], listed, extensions } = wanted

  const address = text || undefined
  if (address !== undefined) {
    const wanted = Address.safeParse(address)
    if (!wanted.ok) {
      const message = `${JSON.stringify(address)} is no address`
      return { kind: 'failed', failure: { message, retryable: false, nothingDone: true } }
    }
    if (listed === undefined) return { kind: 'list', address }
    if (!listed.ok) return { kind: 'failed', failure: listed.failure }
    const found = listed.value.find((each) => isAddress(each.address, wanted.value))
    if (found !== undefined) return { kind: 'use', address: found.address }
  }
  if (tags.length === 0) return { kind: 'create', address, description, tags: [] }
  if (extensions === undefined) return { kind: 'listExtensions' }
  if (!extensions.ok) return { kind: 'failed', failure: extensions.failure }
  return { kind: 'create', address, description, tags: extensions.value.includes(TAGS) ? tags : [] }
}

function isAddress(text: string, wanted: Address.Address): boolean {
  const parsed = Address.safeParse(text)
  return parsed.ok && Address.equals(Address.unmap(parsed.value), Address.unmap(wanted))
}
