import type { IPBlock } from 'ipam-kit/crd/ipam-kit'
import { IPBlock as Model } from 'ipam-kit/crd/ipam-kit'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { IPBlockRow } from '../../src/crd/ipam-kit/ip-block.js'
import { ROWS_FINALIZER } from '../../src/crd/ipam-kit/names.js'
import type { Client } from '../../test/real/controller/client.js'
import type { AddressParts } from '../controller/bare.js'

const PATH = `/apis/${Model.info.apiVersion}/${Model.info.plural}`
const SIZE = 256

/** Rows that wait for a write of their block. */
interface Block {
  version: string | undefined
  sequence: number
  waiting: { readonly [unit: string]: IPBlockRow }
  /** The last write that was begun, and the one that has the rows that wait. */
  writing: Promise<void>
  next: Promise<void> | undefined
}

/**
 * Rows of blocks as controllers write them, by a client that knows each address before: rows that
 * wait for the same block go into one write of it.
 */
export class BareBlocks {
  readonly #client: Client
  readonly #namespace: string
  readonly #blocks = new Map<string, Block>()

  constructor(client: Client, namespace: string) {
    this.#client = client
    this.#namespace = namespace
  }

  /**
   * Gives the nth address of a pool to a claim. @throws Error if the block is not as it was left
   */
  give({ metadata }: KubeObject, { pool, number }: Pick<AddressParts, 'pool' | 'number'>): Promise<void> {
    const offset = number + 2
    const place: Place = { pool, third: Math.floor(offset / SIZE), domain: `bare.${this.#namespace}.p${pool}` }
    const name = nameOf(place)
    let block = this.#blocks.get(name)
    if (block === undefined) {
      block = { version: undefined, sequence: 0, waiting: {}, writing: Promise.resolve(), next: undefined }
      this.#blocks.set(name, block)
    }
    const { namespace, name: claim, uid } = metadata
    const row = { owner: `${namespace}/${claim}`, uid: uid!, sequence: ++block.sequence }
    block.waiting = { ...block.waiting, [offset % SIZE]: row }
    block.next ??= block.writing.then(() => this.#write(block, place))
    return block.next
  }

  #write(block: Block, place: Place): Promise<void> {
    const { waiting: rows, version, sequence } = block
    block.waiting = {}
    block.next = undefined
    const last = Math.max(...Object.keys(rows).map(Number))
    const fields = { sequence, last, rows }
    const sent = version === undefined ? this.#create(place, fields) : this.#patch(place, version, fields)
    block.writing = sent.then(({ metadata }) => {
      block.version = metadata.resourceVersion
    })
    return block.writing
  }

  #create(place: Place, fields: object): Promise<KubeObject> {
    const { pool, third, domain } = place
    const { apiVersion, kind } = Model.info
    const metadata = { name: nameOf(place), finalizers: [ROWS_FINALIZER] }
    const cidr = `10.${pool}.${third}.0/24`
    const spec = { cidr, domain, allocationPrefixLength: 32, pool: domain, ...fields } as IPBlock['spec']
    return this.#client.send('POST', PATH, { body: { apiVersion, kind, metadata, spec } })
  }

  #patch(place: Place, resourceVersion: string, fields: object): Promise<KubeObject> {
    const body = { metadata: { resourceVersion }, spec: fields }
    return this.#client.send('PATCH', `${PATH}/${nameOf(place)}`, { body, patch: 'merge' })
  }
}

interface Place {
  readonly pool: number
  readonly third: number
  readonly domain: string
}

function nameOf({ pool, third, domain }: Place): string {
  const hex = [10, pool, third, 0].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return `${domain}-4-${hex}-24`
}
