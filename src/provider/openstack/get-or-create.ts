import * as Address from '../../cidr/nouns/address.js'
import { assertObject } from '../../errors/checks.js'
import type { ExternalFailure, ExternalResult } from '../../plan/index.js'

/** What is known of a floating IP that is to have a certain address, or any. */
export interface WantedFloatingIP {
  /** The address; left out: any, so that a new one is created. */
  readonly address?: string | undefined
  /** What a new one is described as. */
  readonly description?: string | undefined
  /** Tags that a new one gets. */
  readonly tags?: readonly string[] | undefined
  /** The floating IPs with that address. Left out: they were not listed yet. */
  readonly listed?: ExternalResult<readonly { readonly address: string }[]> | undefined
  /** The extensions of the cloud. Left out: they were not asked for yet. */
  readonly extensions?: ExternalResult<readonly string[]> | undefined
}

/** What has to be done next. */
export type FloatingIPStep =
  | { readonly kind: 'list'; readonly address: string }
  | { readonly kind: 'listExtensions' }
  /** `tags` are put on after it: Neutron takes none at creation. */
  | {
      readonly kind: 'create'
      readonly address: string | undefined
      readonly description: string
      readonly tags: readonly string[]
    }
  | { readonly kind: 'use'; readonly address: string }
  | { readonly kind: 'failed'; readonly failure: ExternalFailure }

/** The extension of Neutron without which nothing has tags. */
const TAGS = 'standard-attr-tag'

/**
 * What has to be done next so that there is a floating IP: one that is there already is used.
 * Whether the cloud can tag is asked before one is created, so that none is left without its tags.
 * O(listed).
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
  assertObject('getOrCreateFloatingIP', 'wanted', wanted)
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
