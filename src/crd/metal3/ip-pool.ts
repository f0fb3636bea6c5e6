import { age, type CrdModel, column, defineCrdModel } from '../meta/crd-model.js'
import type { KubeObject } from '../meta/object.js'
import { readerOf } from '../meta/reader.js'
import { API_VERSION, shortNames } from './names.js'
import { pool } from './versions.js'

/**
 * A pool of addresses (ipam.metal3.io/v1alpha1). Its status lists the address of each claim.
 * `IPPool` is the name of the kind in this API group: ipam-kit.dev has a kind of the same name.
 */
export interface IPPool extends KubeObject {
  readonly spec: IPPoolSpec
  readonly status?: IPPoolStatus | undefined
}

export interface IPPoolSpec extends IPPoolSettings {
  /** The Cluster that the pool belongs to. Never changes once it is set. */
  readonly clusterName?: string | undefined
  /**
   * Begins the names of the IPAddress objects of the pool. Never changes. Empty only on objects
   * written by hand.
   */
  readonly namePrefix: string
  /** Where addresses come from. Each entry is used up before the next one. */
  readonly pools?: readonly IPPoolEntry[] | undefined
  /** Which address of an entry is next. Never changes. Default `sequential`. */
  readonly allocationStrategy?: 'sequential' | 'random' | undefined
  /** Addresses that are kept for claims, by the name of the claim. */
  readonly preAllocations?: { readonly [claimName: string]: string } | undefined
}

/** What an address comes with. An entry may have its own, else those of the pool are taken. */
export interface IPPoolSettings {
  /** Length of the subnet: 0 to 32 or 0 to 128. 0 and absent are the same. */
  readonly prefix?: number | undefined
  readonly gateway?: string | undefined
  readonly dnsServers?: readonly string[] | undefined
}

/**
 * Addresses from `start` to `end`, or to the end of `subnet`; without a start those behind the
 * address that is written in `subnet`.
 */
export interface IPPoolEntry extends IPPoolSettings {
  readonly start?: string | undefined
  readonly end?: string | undefined
  readonly subnet?: string | undefined
}

export interface IPPoolStatus {
  readonly lastUpdated?: string | undefined
  /** The address of each claim, by the name of the claim. */
  readonly indexes?: { readonly [claimName: string]: string } | undefined
}

/** The Cluster of a pool, for people. */
const CLUSTER = '.metadata.labels.cluster\\.x-k8s\\.io/cluster-name'

export const IPPool: CrdModel<IPPool> = defineCrdModel({
  info: { apiVersion: API_VERSION, kind: 'IPPool', plural: 'ippools', namespaced: true, statusSubresource: true },
  schema: readerOf(pool),
  categories: ['cluster-api'],
  shortNames: shortNames('ipp', 'ippool', 'ippools'),
  versions: [
    {
      apiVersion: API_VERSION,
      columns: [column('Cluster', 'Cluster that the pool belongs to', CLUSTER), age('pool')],
      schema: pool,
    },
  ],
})
