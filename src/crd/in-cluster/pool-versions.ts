import * as z from 'zod'
import type { PrinterColumn, VersionSpec } from '../meta/crd-model.js'
import { READ_AS } from '../meta/reader.js'
import { flag, integer, kubeObject, list, object, text } from '../meta/strict.js'
import { conditions } from '../meta/strict-conditions.js'
import { API_VERSION, API_VERSION_V1ALPHA1, DEFAULT_ALLOCATION_PREFIX_LENGTH } from './names.js'
import { poolFromV1alpha1 } from './pool-conversion.js'

/** Where the pools of a kind are, and so who may draw from them. */
type Scope = 'Namespaced' | 'Cluster'

/** What upstream's definitions do not have. */
interface Additions {
  /** `status.conditions`, and a column for Ready. Default false. */
  readonly hasConditions?: boolean | undefined
}

const ready: PrinterColumn = {
  name: 'Ready',
  type: 'string',
  description: 'Whether the next claim can be served',
  jsonPath: '.status.conditions[?(@.type=="Ready")].status',
}

/** The versions of a kind of pools of addresses, the older first. */
export function addressPoolVersions(scope: Scope, { hasConditions = false }: Additions = {}): readonly VersionSpec[] {
  const more = hasConditions ? [ready] : []
  const conversion = poolFromV1alpha1({ restores: scope === 'Cluster' ? 'always' : 'if-same' })
  return [
    {
      apiVersion: API_VERSION_V1ALPHA1,
      isDeprecated: true,
      columns: [...oldColumns(scope), ...more],
      schema: () => oldAddressPool(hasConditions),
      conversion,
    },
    {
      apiVersion: API_VERSION,
      columns: [addresses, ...countColumns('Addresses'), ...more],
      schema: () => addressPool(hasConditions),
    },
  ]
}

/** The version of a kind of pools of prefixes. */
export function prefixPoolVersions({ hasConditions = false }: Additions = {}): readonly VersionSpec[] {
  const prefixes: PrinterColumn = {
    name: 'Prefixes',
    type: 'string',
    description: 'What prefixes are carved from',
    jsonPath: '.spec.prefixes',
  }
  const columns = [prefixes, ...countColumns('Prefixes'), ...(hasConditions ? [ready] : [])]
  return [{ apiVersion: API_VERSION, columns, schema: () => prefixPool(hasConditions) }]
}

const addresses: PrinterColumn = {
  name: 'Addresses',
  type: 'string',
  description: 'What addresses are given from',
  jsonPath: '.spec.addresses',
}

function countColumns(what: 'Addresses' | 'Prefixes'): readonly PrinterColumn[] {
  const column = (name: string, description: string): PrinterColumn => ({
    name,
    type: 'integer',
    description,
    jsonPath: `.status.ipAddresses.${name.toLowerCase()}`,
  })
  return [
    column('Total', `${what} of the pool`),
    column('Free', `${what} that can be given`),
    column('Used', `${what} that are given`),
  ]
}

/**
 * The columns of v1alpha1. Those of the ends look for fields that are called otherwise: they have
 * always been empty.
 */
function oldColumns(scope: Scope): readonly PrinterColumn[] {
  const column = (name: string, description: string): PrinterColumn => ({
    name,
    type: 'string',
    description,
    jsonPath: `.spec.${name.toLowerCase()}`,
  })
  const ends = [
    column('Subnet', 'Subnet of the pool'),
    column('First', 'First address'),
    column('Last', 'Last address'),
  ]
  return [...ends, ...(scope === 'Namespaced' ? [addresses] : []), ...countColumns('Addresses')]
}

const GATEWAY = 'The router of the subnet, put on every address.'
const LENGTH = 'Length of the subnet of the addresses, put on every one of them.'
const ADDRESSES = 'Addresses, ranges `first-last` and CIDRs to give from, in any order.'

function entries(description: string) {
  return list(description, text('An address, a range or a CIDR.'))
}

function gracePeriod(what: string) {
  const sentence = `How many seconds ${what} stays in use after its claim was deleted. The claim stays as long. Default 0.`
  return integer(sentence, { format: 'int32', minimum: 0 }).register(READ_AS, { reader: z.int32() }).optional()
}

/** A count above 2^53 is read as the nearest JSON number. */
const count = (description: string) => integer(description).register(READ_AS, { reader: z.number() })

function poolStatus(description: string, hasConditions: boolean) {
  return object('What the provider says of the pool.', {
    ipAddresses: object(description, {
      total: count('What the pool may give, whether it is in use or not.'),
      free: count('What it can still give.'),
      used: count('IPAddress objects of the pool.'),
      outOfRange: count(
        'Those of them that are not, or no longer, of the pool: what is left of a range that was taken out while it was in use, as the annotation ipam-kit.dev/drain allows.',
      ),
    }).optional(),
    ...(hasConditions
      ? {
          conditions: conditions('What the provider says of the pool. Known types: Ready, AddressesUnique.').optional(),
        }
      : {}),
  }).optional()
}

const COUNTS = 'How many addresses there are. Numbers too large for 64 bits end there.'

function oldAddressPool(hasConditions: boolean) {
  const spec = object('What the pool gives.', {
    addresses: entries(
      `${ADDRESSES} May be left out where there is a subnet, or a first and a last address.`,
    ).optional(),
    subnet: text('CIDR to give from.').optional(),
    start: text('First address to give. Default: the second one of the subnet.').optional(),
    end: text('Last address to give. Default: the last but one of the subnet.').optional(),
    prefix: integer(`${LENGTH} Default: that of the subnet.`, { maximum: 128 }).optional(),
    gateway: text(GATEWAY).optional(),
  })
  return kubeObject('A pool of single addresses.', { spec: spec.optional(), status: poolStatus(COUNTS, hasConditions) })
}

export function addressPool(hasConditions = true) {
  const spec = object('What the pool gives.', {
    addresses: entries(ADDRESSES),
    prefix: integer(LENGTH, { minimum: 0, maximum: 128 }),
    gateway: text(`${GATEWAY} Never given itself.`).optional(),
    allocateReservedIPAddresses: flag(
      'Whether the first address of the subnet, and the last one of an IPv4 subnet, are given as well.',
    ).optional(),
    excludedAddresses: entries('What is never given. What is in use of it stays with its claims.').optional(),
    addressReuseGracePeriodSeconds: gracePeriod('an address'),
  })
  return kubeObject('A pool of single addresses.', { spec: spec.optional(), status: poolStatus(COUNTS, hasConditions) })
}

export function prefixPool(hasConditions = true) {
  const spec = object('What the pool gives.', {
    prefixes: list('CIDRs of one family to carve prefixes from.', text('A CIDR without host bits.')),
    allocationPrefixLength: integer('Length of every prefix that is given. Never changes.', {
      minimum: 1,
      maximum: 128,
    }).default(DEFAULT_ALLOCATION_PREFIX_LENGTH),
    gateway: text('A router, put on every address. Not kept back: a prefix that it is in may be given.').optional(),
    excludedPrefixes: entries(
      'What no prefix that is given may overlap. What is in use of it stays with its claims.',
    ).optional(),
    addressReuseGracePeriodSeconds: gracePeriod('a prefix'),
  })
  const status = poolStatus('How many prefixes there are. Numbers too large for 64 bits end there.', hasConditions)
  return kubeObject('A pool of prefixes of one length.', { spec: spec.optional(), status })
}
