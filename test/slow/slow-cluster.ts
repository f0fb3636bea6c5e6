import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool, poolModels } from 'ipam-kit/crd/in-cluster'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import type { Outcome } from 'ipam-kit/plan'
import { blocksOperator, blocksSweep } from 'ipam-kit/provider/blocks'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { inClusterBlocks } from 'ipam-kit/provider/in-cluster-blocks'
import { Controller, type ControllerProblem, taskCaller } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { VirtualTimers } from '../run/controller/virtual-timers.js'
import { slowStore, type Usage } from './slow-store.js'

export interface SlowOptions {
  readonly ledger: 'objects' | 'blocks'
  /** Decides how long each call takes. */
  readonly seed: number
  readonly processes: number
  readonly claims: number
  /** Claims that had an address before the ledger was switched to blocks. Default 0. */
  readonly older?: number | undefined
  /** From, to. */
  readonly latencyMs: readonly [number, number]
  readonly pools?: number | undefined
  /** The virtual time after which a run counts as one that does not end. Default 1 hour. */
  readonly limitMs?: number | undefined
}

export interface SlowResult {
  /**
   * When each new claim was Bound, in milliseconds since the start, the first one first. Shorter
   * than `claims`: the others never were.
   */
  readonly boundMs: readonly number[]
  /** When the rows of blocks or, on objects, the IPAddress objects were written. */
  readonly rowsMs: readonly number[]
  readonly olderServedMs: readonly number[]
  readonly usage: readonly Usage[]
  readonly problems: readonly ControllerProblem[]
  /** Addresses that two IPAddress objects have. */
  readonly duplicates: readonly string[]
}

const NAMESPACE = 'default'
/**
 * Plans at a time: few, so that a hundred claims are many. With calls in flight, 18 of them are
 * begun at a time.
 */
const CONCURRENCY = 2
const GROUP = 'ipam.cluster.x-k8s.io'
const kinds = [IPAddressClaim, IPAddress, Cluster, ...poolModels, IPDomain, IPPool, IPBlock].map(({ info }) => info)

/**
 * Controllers at work on one memory store whose every call takes virtual time, until all claims are
 * Bound or the limit is reached.
 */
export async function runSlowly(options: SlowOptions): Promise<SlowResult> {
  const { ledger, processes, claims, older = 0, latencyMs, pools = 4, limitMs = 3_600_000 } = options
  const timers = new VirtualTimers()
  const now = () => timers.now()
  const below = memoryStore({ now, kinds })
  const draw = dice(options.seed)
  const [from, to] = latencyMs
  const startMs = timers.now()
  await prepare(below, { claims: older, pools, prefix: 'older' })
  if (older > 0) {
    const first = controllerOn(below, { ledger: 'objects', timers, name: 'first', onProblem: () => {} })
    const running = first.run()
    while ((await countBound(below, 'older')) < older) await timers.pass(1000)
    first.stop()
    await timers.pass(1000)
    await running
  }
  await makeClaims(below, { claims, pools, prefix: 'new' })

  const beganMs = timers.now()
  const problems: ControllerProblem[] = []
  const watcher = watchProgress(below, () => timers.now() - beganMs)
  const stores = Array.from({ length: processes }, () =>
    slowStore(below, { timers, latencyMs: () => from + draw() * (to - from) }),
  )
  const controllers = stores.map((store, nth) =>
    controllerOn(store, { ledger, timers, name: `process-${nth}`, onProblem: (problem) => problems.push(problem) }),
  )
  const running = controllers.map((controller) => controller.run())
  while (watcher.boundMs.length < claims && timers.now() - startMs < limitMs) await timers.pass(1000)
  for (const controller of controllers) controller.stop()
  await timers.pass(60_000)
  await Promise.all(running)
  await watcher.stop()
  const items = unwrap(await below.list({ apiVersion: IPAddress.info.apiVersion, kind: 'IPAddress' })).items
  const addresses = items.map((object) => {
    const { spec } = IPAddress.parse(object)
    return `${spec.poolRef.name} ${spec.address}`
  })
  const { boundMs, rowsMs, olderServedMs } = watcher
  const duplicates = addresses.filter((address, nth) => addresses.indexOf(address) !== nth)
  return { boundMs, rowsMs, olderServedMs, usage: stores.map(({ usage }) => usage), problems, duplicates }
}

/** How many calls all processes made. */
export function callsOf({ usage }: SlowResult): number {
  return usage.flatMap(({ calls }) => Object.values(calls)).reduce((sum, count) => sum + count, 0)
}

/**
 * What is wrong with a run: claims that are not Bound, addresses given twice, more calls than
 * claims need, or claims that wait for all others.
 */
export function problemsOf(result: SlowResult, { claims, processes, older = 0 }: Expected): readonly string[] {
  const { boundMs, rowsMs, duplicates, problems, usage } = result
  const conflicts = usage.reduce((sum, each) => sum + each.conflicts, 0)
  const calls = callsOf(result)
  // lists, pools and the statuses of the operators come on top
  const most = 6 * (claims + older) + conflicts + processes * 60
  const early = rowsMs.filter((ms) => ms < (boundMs[0] ?? Number.POSITIVE_INFINITY)).length
  return [
    ...(boundMs.length < claims ? [`${boundMs.length} of ${claims} claims are Bound`] : []),
    ...duplicates.map((address) => `${address} is given twice`),
    // a queue in which keys wait for over a minute is what is tested
    ...problems
      .filter((problem) => problem.kind !== 'stalled' || problem.reason !== 'waiting')
      .map((problem) => `a problem was reported: ${JSON.stringify(problem)}`),
    ...(calls > most ? [`${calls} calls and ${conflicts} conflicts for ${claims} claims`] : []),
    ...(early > Math.max(claims / 4, 16 * processes) ? [`${early} rows were written before a claim was Bound`] : []),
  ]
}

type Expected = Pick<SlowOptions, 'claims' | 'processes' | 'older'>

function controllerOn(
  store: Store,
  {
    ledger,
    timers,
    name,
    onProblem,
  }: Pick<SlowOptions, 'ledger'> & {
    readonly timers: VirtualTimers
    readonly name: string
    readonly onProblem: (problem: ControllerProblem) => void
  },
): Controller {
  const common = { store, timers, onProblem, concurrency: CONCURRENCY }
  if (ledger === 'objects') return new Controller<Outcome>({ ...common, planners: [inCluster()] })
  const provider = inClusterBlocks()
  return new Controller<Outcome>({
    ...common,
    planners: [provider, blocksOperator(), blocksSweep({ owners: [IPAddressClaim.info] })],
    external: taskCaller({ store, tasks: provider.tasks, now: () => timers.now() }),
    identity: name,
  })
}

interface Some {
  readonly claims: number
  readonly pools: number
  readonly prefix: string
}

async function prepare(store: Store, some: Some): Promise<void> {
  for (let nth = 0; nth < some.pools; nth++) {
    const addresses = [`10.${nth}.0.0/19`]
    unwrap(
      await store.create({
        apiVersion: InClusterIPPool.info.apiVersion,
        kind: 'InClusterIPPool',
        metadata: { namespace: NAMESPACE, name: `pool-${nth}` },
        spec: { addresses, prefix: 19, gateway: `10.${nth}.0.1` },
      }),
    )
  }
  await makeClaims(store, some)
}

async function makeClaims(store: Store, { claims, pools, prefix }: Some): Promise<void> {
  for (let nth = 0; nth < claims; nth++) {
    unwrap(
      await store.create({
        apiVersion: IPAddressClaim.info.apiVersion,
        kind: 'IPAddressClaim',
        metadata: { namespace: NAMESPACE, name: `${prefix}-${nth}` },
        spec: { poolRef: { apiGroup: GROUP, kind: 'InClusterIPPool', name: `pool-${nth % pools}` } },
      }),
    )
  }
}

async function countBound(store: Store, prefix: string): Promise<number> {
  const { apiVersion, kind } = IPAddressClaim.info
  const { items } = unwrap(await store.list({ apiVersion, kind }))
  return items.filter(({ metadata, status }) => metadata.name.startsWith(prefix) && isBound(status)).length
}

function isBound(status: unknown): boolean {
  return (status as { addressRef?: { name?: string } } | undefined)?.addressRef?.name !== undefined
}

/** Notes when claims are Bound and when rows are there, by watches of its own. */
function watchProgress(store: Store, elapsedMs: () => number) {
  const boundMs: number[] = []
  const rowsMs: number[] = []
  const olderServedMs: number[] = []
  const [bound, rows] = [new Set<string>(), new Set<string>()]
  const follow = ({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }, take: Take) => {
    const events = store.watch({ apiVersion, kind })[Symbol.asyncIterator]()
    const done = (async () => {
      for (let next = await events.next(); next.done !== true; next = await events.next()) {
        if ('object' in next.value) take(next.value.object)
      }
    })()
    return async () => {
      await events.return?.()
      await done
    }
  }
  const stops = [
    follow(IPAddressClaim.info, ({ metadata, status }) => {
      if (!isBound(status) || bound.has(metadata.name) || !metadata.name.startsWith('new')) return
      bound.add(metadata.name)
      boundMs.push(elapsedMs())
    }),
    follow(IPBlock.info, ({ spec }) => {
      for (const { uid, owner } of Object.values((spec as { rows: { [unit: string]: Row } }).rows)) {
        if (rows.has(uid)) continue
        rows.add(uid)
        const times = owner.includes('/older') ? olderServedMs : rowsMs
        times.push(elapsedMs())
      }
    }),
  ]
  return {
    boundMs,
    rowsMs,
    olderServedMs,
    stop: async () => {
      await Promise.all(stops.map((stop) => stop()))
    },
  }
}

type Take = (object: {
  readonly metadata: { readonly name: string }
  readonly spec?: unknown
  readonly status?: unknown
}) => void

interface Row {
  readonly uid: string
  readonly owner: string
}

/** Numbers from 0 to 1 that a seed decides (mulberry32). */
function dice(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
