import * as z from 'zod'
import { READ_AS } from '../meta/reader.js'
import { integer, kubeObject, list, mapOf, object, text } from '../meta/strict.js'

// What counts as an address or a CIDR: the two patterns of the project, from their parts.
const OCTET = '([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])'
const IPV4 = `((${OCTET}\\.){3}${OCTET})`
const HEX = '[0-9a-fA-F]{1,4}'
const IPV6 = `(${[
  `(${HEX}:){7,7}${HEX}`,
  `(${HEX}:){1,7}:`,
  `(${HEX}:){1,6}:${HEX}`,
  `(${HEX}:){1,5}(:${HEX}){1,2}`,
  `(${HEX}:){1,4}(:${HEX}){1,3}`,
  `(${HEX}:){1,3}(:${HEX}){1,4}`,
  `(${HEX}:){1,2}(:${HEX}){1,5}`,
  `${HEX}:((:${HEX}){1,6})`,
  `:((:${HEX}){1,7}|:)`,
].join('|')})`
const address = (description: string) => text(description, { pattern: `((^${IPV4}$)|(^${IPV6}$))` })
const CIDR = {
  pattern: `((^${IPV4}/([0-9]|[1-2][0-9]|3[0-2])$)|(^${IPV6}/([0-9]|[0-9][0-9]|1[0-1][0-9]|12[0-8])$))`,
}

function byClaim(description: string) {
  return mapOf(description, address('The address of a claim.')).optional()
}

function prefixLength() {
  return integer('Length of the subnet.', { maximum: 128 })
}

/** What comes with an address. */
function settings() {
  return {
    prefix: prefixLength().optional(),
    gateway: address('The router of the subnet.').optional(),
    dnsServers: list('Servers for names.', address('The address of a server.')).optional(),
  }
}

const STRATEGIES = ['sequential', 'random'] as const

export function pool() {
  // an empty one is what Go writes for none
  const strategy = z.enum(STRATEGIES).default('sequential')
  const entry = object('One range of addresses, with what comes with them.', {
    start: address('First address. Default: the one behind the address that is written in the subnet.').optional(),
    end: address('Last address. Default: the last one of the subnet.').optional(),
    subnet: text('CIDR that the addresses have to be in.', CIDR).optional(),
    ...settings(),
  })
  const spec = object('What the pool gives.', {
    clusterName: text('Name of the Cluster that the pool belongs to.').optional(),
    namePrefix: text('Begins the names of the IPAddress objects of the pool. Never changes.', {
      minLength: 1,
    }).register(READ_AS, { reader: z.string().default('') }),
    pools: list('Where addresses come from. Each entry is used up before the next one.', entry).optional(),
    allocationStrategy: text('Which address of an entry is next: the lowest one that is free, or any. Never changes.', {
      enum: STRATEGIES,
    })
      .default('sequential')
      .register(READ_AS, { reader: z.preprocess((value) => value || undefined, strategy) }),
    preAllocations: byClaim('Addresses that are kept for claims, by the name of the claim.'),
    ...settings(),
  })
  const status = object('What has been given.', {
    lastUpdated: text('When this was written.', { format: 'date-time' }).optional(),
    indexes: byClaim('The address of each claim, by the name of the claim.'),
  })
  return kubeObject('A pool of addresses.', { spec: spec.optional(), status: status.optional() })
}

export function claim() {
  const status = object('What has become of the claim.', {
    address: reference('The IPAddress that fulfils the claim.').optional(),
    errorMessage: text('Why there is none.').optional(),
  })
  const spec = object('What is asked for. Never changes.', {
    pool: reference('The pool that the address has to be of.'),
  })
  return kubeObject('A request for one address of a pool.', { spec: spec.optional(), status: status.optional() })
}

export function ipAddress() {
  const spec = object('What was given.', {
    address: address('The address.'),
    claim: reference('The claim that it was given to.'),
    pool: reference('The pool that it is of.'),
    ...settings(),
    prefix: prefixLength().register(READ_AS, { reader: z.number() }).optional(),
  })
  return kubeObject('An address that a pool has given to a claim.', { spec: spec.optional() })
}

/** `corev1.ObjectReference`. */
function reference(description: string) {
  const field = (sentence: string) => text(sentence).optional()
  const shape = {
    apiVersion: field('Group and version of the object.'),
    kind: field('Kind of the object.'),
    namespace: field('Namespace of the object.'),
    name: field('Name of the object.'),
    uid: field('Identity of the object, beyond its name.'),
    resourceVersion: field('The version of the object that is meant.'),
    fieldPath: field('The part of the object that is meant.'),
  }
  return object(description, shape, { isAtomic: true })
}
