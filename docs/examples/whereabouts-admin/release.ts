import { Address } from 'ipam-kit/cidr'
import { type ObjectRef, refOf } from 'ipam-kit/crd/meta'
import { readPodref, readRows, IPPool as WhereaboutsPool } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import { KnownBlocks, release as releaseBlockRow } from 'ipam-kit/provider/blocks'
import { FlagError } from '../program/flags.js'
import { type BlockRow, type Cluster, copyOfCluster, isThere, kindsOf, readCluster } from './cluster.js'
import { type Command, type Exit, type Place, runShown, textOf, wordsOf } from './command.js'
import { podRef, ReleaseRow } from './release-row.js'

interface Request {
  readonly address: Address
  readonly pod: string
  readonly container: string | undefined
  readonly pool: string | undefined
  readonly isForced: boolean
}

/** `release ADDRESS --pod NAMESPACE/NAME`: frees one address, in pools and in blocks. */
export const release: Command = {
  flags: {
    pod: { type: 'string', about: 'the holder, `NAMESPACE/NAME`: needed' },
    container: { type: 'string', about: 'the container. Left out: the one that the row names' },
    pool: {
      type: 'string',
      about: 'the pool of whereabouts or of blocks, if the Pod has the address in several',
    },
    force: {
      type: 'boolean',
      default: false,
      about: 'releases the address also if the Pod exists, or an IPAMClaim has the row',
    },
    'dry-run': { type: 'boolean', default: false, about: 'prints the writes, and makes none' },
  },
  kinds: kindsOf,
  read(words, values) {
    const [text = ''] = wordsOf('release', words, ['ADDRESS'])
    const address = Address.safeParse(text)
    if (!address.ok) throw new FlagError(`${text} is not an address`)
    const pod = textOf(values, 'pod')
    if (pod === undefined || readPodref(pod) === undefined) throw new FlagError('--pod NAMESPACE/NAME is the holder')
    const request: Request = {
      address: address.value,
      pod,
      container: textOf(values, 'container'),
      pool: textOf(values, 'pool'),
      isForced: values.force === true,
    }
    return async (place) => {
      const isDry = values['dry-run'] === true
      return releaseIn(isDry ? { ...place, store: await copyOfCluster(place) } : place, request)
    }
  },
}

async function releaseIn(place: Place, request: Request): Promise<Exit> {
  const { pod, address, container, isForced } = request
  const cluster = await readCluster(place)
  const pools = poolsWith(cluster, request)
  const rows = blockRowsOf(cluster, request)
  const several = [pools, rows].find(({ length }) => length > 1)
  if (several !== undefined) {
    place.print(`${pod} has the address in several pools: name one by --pool`)
    return 3
  }
  const [[pool], [row]] = [pools, rows]
  if (pool === undefined && row === undefined) {
    place.print(`${pod} does not have ${Address.format(address)}`)
    return 3
  }
  // the order of a DEL: a row of a pool without its row in a block is written again by an upgrade
  if (pool !== undefined) {
    const exit = await released(place, new ReleaseRow({ pool, address, pod, container, isForced }))
    if (exit !== 0) return exit
  }
  return row === undefined ? 0 : releaseFromBlock(place, row, request)
}

async function released(place: Place, task: ReleaseRow): Promise<Exit> {
  const ended = await runShown(task, place)
  if ('exit' in ended) return ended.exit
  place.print(ended.outcome.message)
  return ended.outcome.kind === 'released' ? 0 : 3
}

/** A row names the uid of its Pod, which never comes back. */
async function releaseFromBlock(place: Place, row: BlockRow, { pod, isForced }: Request): Promise<Exit> {
  const ref = podRef(pod)
  const { store, print } = place
  if (!isForced && ref !== undefined) {
    const read = await store.get(ref)
    if (!read.ok && read.failure.code !== 'STORE_NOT_FOUND') return unwrap(read) && 1
    if (read.ok && isThere(read.value, row.uid)) {
      print(`the Pod ${pod} exists: ${Address.format(row.address)} is not released`)
      return 3
    }
  }
  const { uid, address, sequence, pool } = row
  const task = releaseBlockRow({ owner: { uid }, address, sequence, pools: [pool] }, new KnownBlocks())
  const ended = await runShown(task, place)
  if ('exit' in ended) return ended.exit
  print(ended.outcome.message)
  return ended.outcome.kind === 'released' ? 0 : 3
}

function poolsWith({ pools }: Cluster, { address, pod, container, pool }: Request): readonly ObjectRef[] {
  return pools.flatMap((object) => {
    const read = WhereaboutsPool.safeParse(object)
    if (!read.ok || (pool !== undefined && object.metadata.name !== pool)) return []
    const isIn = readRows(read.value).rows.some(
      (row) =>
        Address.equals(row.address, address) && row.podref === pod && (container === undefined || row.id === container),
    )
    return isIn ? [refOf(object)] : []
  })
}

function blockRowsOf({ blockRows }: Cluster, { address, pod, container, pool }: Request): readonly BlockRow[] {
  return blockRows.filter(
    (row) =>
      Address.equals(row.address, address) &&
      row.kind === 'Pod' &&
      row.owner === pod &&
      (container === undefined || row.container === container) &&
      (pool === undefined || row.pool === pool),
  )
}
