/**
 * Pools whose addresses live in an external system such as a cloud: `externalPools` reserves,
 * creates and releases them. A cloud is described by three facts.
 *
 * @module ipam-kit/provider/external
 */
export { type Cloud, type CloudAddress, type CloudFacts, type CloudNetwork, cloudCaller, isCloudCall } from './cloud.js'
export type { ExternalPoolOutcome, ExternalPoolsDefinition } from './definition.js'
export type { ExternalLedger } from './ledger.js'
export type { ExternalPoolKind } from './pool-kind.js'
export { externalPools } from './provider.js'
export { RESERVATIONS_ANNOTATION, reservationsOf } from './reservations.js'
